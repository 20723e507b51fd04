import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { REPOSITORY } from './support/spawn-taskq.ts';

test("the README's tables say what the code says", () => {
  const check = () =>
    execFileSync(process.execPath, ['.ci/write-tables.mjs', '--check'], { cwd: REPOSITORY, stdio: 'pipe' });
  expect(check).not.toThrow();
});
