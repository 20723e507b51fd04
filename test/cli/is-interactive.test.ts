import { expect, test } from 'vitest';
import { whyUnattended } from '../../src/cli/run/is-interactive.ts';

const terminal = { isTTY: true };
const pipe = {};
const NO_TERMINAL = 'neither stdin nor stderr is a terminal';

test.each([
  ['stdin is a terminal', { stdin: terminal, stderr: pipe }, {}, undefined],
  ['stderr is a terminal', { stdin: pipe, stderr: terminal }, {}, undefined],
  ['neither is', { stdin: pipe, stderr: pipe }, { CI: 'true' }, NO_TERMINAL],
  [
    'NODE_ENV is production',
    { stdin: terminal, stderr: terminal },
    { NODE_ENV: 'production' },
    'NODE_ENV is production',
  ],
  ['CI is set', { stdin: terminal, stderr: terminal }, { CI: 'true' }, 'CI is set'],
])('why the embedded database is not started without being asked for: %s', (_, streams, env, expected) => {
  expect(whyUnattended(env, streams)).toBe(expected);
});
