// Reads vitest's JSON reports, fails where a test failed or was skipped, and prints the closing line.
import { existsSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

let passed = 0;
let failed = 0;
for (const path of process.argv.slice(2)) {
  if (!existsSync(path)) {
    console.log(`${path}: no report; that run did not come to its end`);
    failed++;
    continue;
  }
  const report = JSON.parse(readFileSync(path, 'utf8'));
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites } = report;
  const skipped = numPendingTests + numTodoTests;
  passed += numPassedTests;
  failed += skipped + (numFailedTests === 0 ? numFailedTestSuites : numFailedTests);
  for (const suite of report.testResults) {
    for (const test of suite.assertionResults) {
      if (test.status === 'passed') continue;
      console.log(`${test.status}: ${suite.name}: ${test.fullName}`);
      // Repeat the failures at the end: often only the end of a long log is kept.
      for (const message of test.failureMessages)
        console.log(stripVTControlCharacters(message).slice(0, 3000));
    }
  }
  if (skipped > 0) console.log(`${skipped} skipped: in CI nothing may be`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
