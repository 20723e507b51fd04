// Reads vitest's JSON report, fails where a test failed or was skipped, and prints the closing line.
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { numPassedTests: passed, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites } = report;
const skipped = numPendingTests + numTodoTests;
const failed = numFailedTests + (numFailedTests === 0 && numFailedTestSuites > 0 ? numFailedTestSuites : 0);
for (const suite of report.testResults) {
  for (const test of suite.assertionResults) {
    if (test.status !== 'passed') console.log(`${test.status}: ${suite.name}: ${test.fullName}`);
  }
}
if (skipped > 0) console.log(`${skipped} skipped: in CI nothing may be`);
console.log(`${passed} passed, ${failed + skipped} failed`);
process.exitCode = failed + skipped > 0 || passed === 0 ? 1 : 0;
