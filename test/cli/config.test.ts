import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('config prints each value with its source, and no password', async () => {
  const cwd = await temporaryDirectory();
  await writeFile(join(cwd, 'taskq.config.json'), '{"lease": "1m", "grace": "5s", "poll": "2s"}');
  const env = { DATABASE_URL: 'postgres://ann:s3cr3t@h/db', TASKQ_GRACE: '6s' };
  const { code, stdout, stderr } = await runCommand(['config'], { cwd, env });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `configuration file: ${join(cwd, 'taskq.config.json')}\n`,
  });
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(rows[0]).toEqual(['SETTING', 'VALUE', 'SOURCE']);
  expect(rows).toContainEqual(['databaseUrl', 'postgres://ann:***@h/db', 'environment DATABASE_URL']);
  expect(rows).toContainEqual(['lease', '1m', `file ${join(cwd, 'taskq.config.json')}`]);
  expect(rows).toContainEqual(['grace', '6s', 'environment TASKQ_GRACE']);
  expect(rows).toContainEqual(['concurrency', '8', 'default']);
});

test('a misspelt variable is named with the nearest setting, on stderr; one that resembles none is not ours', async () => {
  const cwd = await temporaryDirectory();
  const env = {
    TASKQ_CONCURENCY: '3',
    TASKQ_PORT: 'tcp://10.0.0.1:80',
    TASKQ_QUEUE: 'mail',
    TASKQ_SEED: '1',
    NO_SUCH: '1',
  };
  expect(await runCommand(['config'], { cwd, env })).toMatchObject({
    code: 0,
    stderr: 'nothing reads TASKQ_CONCURENCY: did you mean TASKQ_CONCURRENCY?\nno configuration file\n',
  });
  expect(await runCommand(['config', '--json'], { cwd, env })).toMatchObject({ code: 0, stderr: '' });
});

test('a message is broken at blanks in a narrow terminal', async () => {
  const cwd = await temporaryDirectory();
  const typed = `stty cols 40; node ${join(REPOSITORY, 'bin/taskq.js')} config >/dev/null`;
  const env = { PATH: process.env.PATH, TASKQ_CONCURENCY: '3' };
  const { stdout } = await promisify(execFile)('script', ['-qec', typed, '/dev/null'], { cwd, env });
  expect(stdout).toBe(
    'nothing reads TASKQ_CONCURENCY: did you\r\n  mean TASKQ_CONCURRENCY?\r\nno configuration file\r\n',
  );
});
