import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { knowTypes } from '../support/know-types.ts';
import { createProject, type Project } from './project.ts';

const BINARY = fileURLToPath(new URL('../../bin/taskq.js', import.meta.url));

describe('output', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
    await knowTypes(project.client, 'double');
    await project.client.query(`select taskq.enqueue_many(jsonb_agg(jsonb_build_object('type', 'double', 'payload', repeat('x', 900))))
      from generate_series(1, 2000)`);
  });
  afterAll(() => project.drop());

  test('a reader that goes away is a clean exit', async () => {
    const child = spawn(process.execPath, [BINARY, 'list', '--limit', '2000', '--json'], {
      cwd: project.directory,
      env: { PATH: process.env.PATH ?? '', DATABASE_URL: project.url },
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    await once(child, 'close');
    expect({ code: child.exitCode, signal: child.signalCode, stderr }).toEqual({
      code: 0,
      signal: null,
      stderr: '',
    });
  });

  test.each([[[]], [['--json']]])('a full disk is an error with its name: %j', async (options) => {
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [BINARY, 'list', '--limit', '1', ...options], {
      cwd: project.directory,
      env: { PATH: process.env.PATH ?? '', DATABASE_URL: project.url },
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const said = text(child.stderr!);
    await once(child, 'close');
    await full.close();
    expect(child.exitCode).toBe(1);
    expect(await said).toMatch(/stdout cannot be written: ENOSPC/);
    expect(await said).not.toContain('bug');
  });

  test('a reader that takes its time gets everything', async () => {
    const child = spawn(process.execPath, [BINARY, 'list', '--limit', '2000', '--json'], {
      cwd: project.directory,
      env: { PATH: process.env.PATH ?? '', DATABASE_URL: project.url },
    });
    const exited = once(child, 'exit');
    const closed = once(child, 'close');
    await once(child.stdout, 'readable');
    // More than a pipe holds is left to read, so it must not have ended by then.
    await Promise.race([exited, sleep(1000)]);
    const printed = await text(child.stdout);
    await closed;
    expect(child.exitCode).toBe(0);
    expect(JSON.parse(printed).tasks).toHaveLength(2000);
  });

  test.each([['--help'], ['work', '--help'], ['--version']])('also one of taskq %s %s', async (...args) => {
    const child = spawn(process.execPath, [BINARY, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    await once(child, 'close');
    expect({ code: child.exitCode, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('global options are taken before and after the command', async () => {
    const env = { DATABASE_URL: '' };
    for (const args of [
      ['--database-url', project.url, '--json', 'stats'],
      ['stats', '--json', '--database-url', project.url],
    ]) {
      expect(JSON.parse((await project.run(args, { env })).stdout)).toMatchObject({ depth: 2000 });
    }
  });

  test('a pipe gets no colours and nothing cut', async () => {
    const { stdout } = await project.run(['list', '--limit', '1']);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain(`"${'x'.repeat(900)}"`);
  });

  test('--quiet keeps errors', async () => {
    expect(await project.run(['show', '999999', '--quiet'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no task 999999'),
    });
  });

  test('--json prints an error as a document on stderr', async () => {
    const { code, stdout, stderr } = await project.run(['show', 'x', '--json']);
    const message = 'id "x": expected the number of a task, such as 12';
    expect({ code, stdout, printed: JSON.parse(stderr) }).toEqual({
      code: 2,
      stdout: '',
      printed: { error: { code: 'bad_option', message, hint: null } },
    });
  });
});
