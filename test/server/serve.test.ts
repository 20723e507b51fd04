import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from '../cli/project.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';

describe('taskq serve', () => {
  let project: Project;
  beforeAll(async () => {
    project = await createProject();
  });
  afterEach(killStartedTaskqs);
  afterAll(() => project.drop());

  /** What is answered to a request with this Host, which `fetch` lets nobody choose. */
  const answerTo = async (
    url: string,
    host: string,
    path = `${new URL(url).pathname}api/v1/tasks`,
  ): Promise<string> => {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    return text(socket);
  };

  const started = async (...args: readonly string[]) => {
    const taskq = startTaskq(['serve', '--port', '0', '--json', ...args], {
      cwd: project.directory,
      env: { DATABASE_URL: project.url },
    });
    const said = await taskq.waitForLog(({ url }) => url !== undefined);
    return { taskq, url: said.url as string, login: said.login_url as string | null };
  };

  test('reads at this machine, for whoever connects, and takes no writes; a signal ends it', async () => {
    const { taskq, url } = await started('--base-path', '/a/b/');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\/b\/$/);
    expect((await fetch(`${url}healthz`)).status).toBe(200);
    for (const [encoding, expected] of [
      ['gzip, br', 'gzip'],
      ['identity', null],
    ] as const) {
      const page = await fetch(url, { headers: { 'accept-encoding': encoding } });
      expect(page.headers.get('content-encoding')).toBe(expected);
      expect(await page.text()).toContain('<div id="app">');
    }
    expect((await fetch(`${url}api/v1/tasks`)).status).toBe(200);
    expect((await fetch(`${url}api/v1/tokens`)).status).toBe(403);
    // A page of another site whose name resolves to this machine.
    const rebound = await answerTo(url, 'evil.example');
    expect(rebound).toMatch(/^HTTP\/1.1 403 /);
    expect(await answerTo(url, `localhost:${new URL(url).port}`)).toMatch(/^HTTP\/1.1 200 /);
    const wrong = await fetch(`${url}api/v1/tasks`, { headers: { authorization: 'Bearer ' } });
    expect(wrong.status).toBe(401);
    const write = await fetch(`${url}api/v1/queues/mail/pause`, {
      method: 'POST',
      headers: { origin: new URL(url).origin },
    });
    expect(write.status).toBe(403);
    const taken = await project.run(['serve', '--port', new URL(url).port]);
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain('EADDRINUSE');
    taskq.kill('SIGTERM');
    expect(await taskq.exit).toEqual({ code: 0, signal: null });
  });

  test('with --write lets in the first browser that opens its link', async () => {
    const { url, login } = await started('--write');
    // As many characters as the key, and twice the bytes.
    expect((await fetch(new URL(`login?key=${'é'.repeat(43)}`, url))).status).toBe(401);
    const { port, pathname, search } = new URL(login!);
    expect(await answerTo(`${url}`, 'evil.example', `${pathname}${search}`)).toMatch(/^HTTP\/1.1 403 /);
    const opened = await fetch(login!, { redirect: 'manual' });
    expect(opened.status).toBe(303);
    expect(opened.headers.get('x-content-type-options')).toBe('nosniff');
    expect(port).toBe(new URL(url).port);
    const cookie = opened.headers.get('set-cookie')!;
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict$/);
    const pause = (headers: Record<string, string>) =>
      fetch(`${url}api/v1/queues/mail/pause`, { method: 'POST', headers });
    const origin = new URL(url).origin;
    expect((await pause({ origin })).status).toBe(403);
    expect((await pause({ origin, cookie: 'taskq_session=wrong' })).status).toBe(403);
    expect((await pause({ origin: 'http://evil.example', cookie })).status).toBe(403);
    expect((await pause({ origin, cookie: cookie.split(';')[0]! })).status).toBe(200);
    expect((await fetch(login!, { redirect: 'manual' })).status).toBe(401);
  });

  test('at another address it needs a token', async () => {
    const refused = await project.run(['serve', '--host', '0.0.0.0', '--port', '0']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('taskq tokens add');
    const added = await project.run([
      'tokens',
      'add',
      'ann',
      '--role',
      'producer',
      '--queues',
      'mail-*',
      '--json',
    ]);
    const { token } = JSON.parse(added.stdout) as { token: string };
    expect((await project.run(['tokens', 'add', 'ann'])).code).toBe(2);
    const { url } = await started('--host', '0.0.0.0', '--write');
    const at = url.replace('0.0.0.0', '127.0.0.1');
    expect((await fetch(`${at}api/v1/tasks`)).status).toBe(401);
    const authorization = `Bearer ${token}`;
    const sent = await fetch(`${at}api/v1/tasks?allowUnknown=true`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"type":"work","queue":"mail-1"}',
    });
    expect(sent.status).toBe(201);
    expect((await project.run(['tokens'])).stdout).toMatch(/ann +producer +mail-\*/);
    expect((await project.run(['tokens', 'revoke', 'ann'])).code).toBe(0);
    expect((await project.run(['tokens', 'revoke', 'ann'])).code).toBe(1);
    expect((await fetch(`${at}api/v1/tasks`, { headers: { authorization } })).status).toBe(401);
  });
});
