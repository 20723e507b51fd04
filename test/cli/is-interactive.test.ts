import { expect, test } from 'vitest';
import { isInteractive } from '../../src/cli/run/is-interactive.ts';

const terminal = { isTTY: true };
const pipe = {};

test.each([
  ['stdin is a terminal', { stdin: terminal, stderr: pipe }, {}, true],
  ['stderr is a terminal', { stdin: pipe, stderr: terminal }, {}, true],
  ['neither is', { stdin: pipe, stderr: pipe }, {}, false],
  ['NODE_ENV is production', { stdin: terminal, stderr: terminal }, { NODE_ENV: 'production' }, false],
  ['CI is set', { stdin: terminal, stderr: terminal }, { CI: 'true' }, false],
])('the embedded database without being asked for: %s', (_, streams, env, expected) => {
  expect(isInteractive(env, streams)).toBe(expected);
});
