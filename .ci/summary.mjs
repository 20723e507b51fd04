// Reads what .ci/reporter.mjs wrote, prints failures and the time of each project, and fails where a test failed or was
// skipped. The failures are repeated here because often only the end of a long log is kept.
import { existsSync, readFileSync } from 'node:fs';

/** So many are named: what to look at when the suite takes too long. */
const LONGEST = Number(process.env.TASKQ_LONGEST ?? 20);

let passed = 0;
let failed = 0;
const times = [];
const files = [];
for (const run of process.argv.slice(2)) {
  const path = `${run}.json`;
  if (!existsSync(path)) {
    console.log(`${path}: no report; that run did not come to its end`);
    failed++;
    continue;
  }
  const { projects, failures, files: ofRun } = JSON.parse(readFileSync(path, 'utf8'));
  files.push(...ofRun);
  for (const [name, project] of Object.entries(projects)) {
    passed += project.passed;
    times.push(
      `${name}: ${project.passed} passed in ${project.files} files, ${Math.round(project.ms / 1000)} s of tests`,
    );
  }
  for (const { test, state, found } of failures) {
    failed++;
    console.log(`${state === 'skipped' ? 'skipped, which nothing may be in CI' : state}: ${test}`);
    for (const text of found) console.log(text);
  }
}
console.log('the files that took longest:');
for (const { at, ms } of files.sort((one, other) => other.ms - one.ms).slice(0, LONGEST))
  console.log(`${Math.round(ms / 1000)} s  ${at}`);
for (const time of times) console.log(time);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
