import { describe, expect, test } from 'vitest';
import { ROLES } from '../../src/server/caller.ts';
import { fullPathOf } from '../../src/server/route.ts';
import { ROUTES } from '../../src/server/route-table.ts';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();
const API = '/api/v1';

/** A request for each route: nothing that its path names exists. */
const requests = ROUTES.map((route) => ({
  route,
  method: route.method,
  path: fullPathOf(route)
    .replaceAll(/\{id\}/g, '999999999')
    .replaceAll(/\{\w+\}/g, 'none'),
  ...(route.body !== undefined && { body: {} }),
}));

test('every route but /healthz is refused without a token, and with a wrong, an expired or a revoked one', async () => {
  const server = open({ authorize: () => null });
  const expired = await token({ role: 'admin', expires_ms: 1 });
  await database.admin.rows("update taskq.tokens set expires_at = clock_timestamp() - interval '1s'");
  const revoked = await token({ role: 'admin' });
  await database.admin.rows('delete from taskq.tokens where expires_at is null');
  for (const { route, method, path, body } of requests) {
    for (const bearer of [undefined, 'taskq_wrong', 'of another', expired, revoked]) {
      const answer = await ask(method, path, {
        server,
        body,
        ...(bearer !== undefined && { token: bearer }),
      });
      expect([method, path, bearer, answer.status]).toEqual([
        method,
        path,
        bearer,
        route.path === '/healthz' ? 200 : 401,
      ]);
      if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  }
});

test('every route is refused to a weaker role than its own, and not to its own', async () => {
  const server = open({ authorize: () => null });
  const tokens = new Map<string, string>();
  for (const role of ROLES) tokens.set(role, await token({ role }));
  for (const { route, method, path, body } of requests) {
    if (route.role === 'open') continue;
    const least = ROLES.indexOf(route.role);
    for (const role of ROLES.slice(Math.max(0, least - 1), least + 1)) {
      const query = path.endsWith('/wait') ? '?timeout=1ms' : '';
      const { status, body: said } = await ask(method, path + query, {
        server,
        body,
        token: tokens.get(role)!,
      });
      const isRefused = status === 403 && said.code === 'forbidden';
      expect([method, path, role, isRefused]).toEqual([method, path, role, ROLES.indexOf(role) < least]);
      expect(status).toBeLessThan(500);
    }
  }
});

test('what is about more than a queue is refused to a token for some queues', async () => {
  const server = open({ authorize: () => null });
  const limited = await token({ role: 'admin', queues: ['mail-*'] });
  for (const { route, method, path, body } of requests) {
    if (route.role === 'open') continue;
    const query = path.endsWith('/wait') ? '?timeout=1ms' : '';
    const answer = await ask(method, path + query, { server, body, token: limited });
    if (route.queues === 'all' || route.path.includes('{queue}'))
      expect([method, path, answer.body.code]).toEqual([method, path, 'other_queue']);
    else expect([method, path, answer.body?.code]).not.toEqual([method, path, 'other_queue']);
  }
});

test('a server that takes writes records when a token was last used, one that only reads does not', async () => {
  const used = await token({ role: 'admin' });
  const lastUse = async (write: boolean) => {
    const server = open({ write });
    const { body } = await ask('GET', `${API}/tokens`, { server, token: used });
    await server.close();
    return body.tokens.find(({ name }: { name: string }) => name === used).lastUsedAt;
  };
  expect(await lastUse(false)).toBe(null);
  expect(await lastUse(true)).toBe(null);
  expect(await lastUse(true)).toMatch(/^20/);
});

test('a server without write takes none, whoever asks', async () => {
  const server = open({ write: false });
  for (const { method, path, body } of requests.filter(
    ({ route }) => route.method !== 'GET' && !route.forBrowsers,
  ))
    expect((await ask(method, path, { server, body })).body.code).toBe('server_read_only');
});

describe('a write that a browser sends', () => {
  const write = (headers: Readonly<Record<string, string>>, asking: object = {}) =>
    ask('POST', `${API}/tasks`, { body: { type: 'work' }, headers, ...asking });

  test.each<[what: string, headers: Readonly<Record<string, string>>, status: number]>([
    ['for a page of the server', { 'sec-fetch-site': 'same-origin' }, 201],
    ['for another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['for another port of the host', { 'sec-fetch-site': 'same-site' }, 403],
    ['from its address bar', { 'sec-fetch-site': 'none' }, 403],
    ['with a password it knows', { 'sec-fetch-site': 'cross-site', authorization: 'Basic YTpi' }, 403],
  ])('%s: %j', async (_, headers, status) => {
    open();
    expect((await write(headers)).status).toBe(status);
  });

  test.each<[what: string, headers: Readonly<Record<string, string>>, status: number]>([
    ['of the same origin', { origin: 'http://localhost', host: 'localhost' }, 201],
    ['of another origin', { origin: 'http://evil.example', host: 'localhost' }, 403],
    ['of no origin', { origin: 'null', host: 'localhost' }, 403],
    ['that does not say', { host: 'localhost' }, 403],
  ])('and is old, %s', async (_, headers, status) => {
    const server = open();
    const response = await server.fetch(
      new Request(`http://localhost${API}/tasks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"type":"work"}',
      }),
    );
    expect(response.status).toBe(status);
  });

  test('for another site is refused by every route, also with the session of an admin', async () => {
    const server = open();
    const writes = requests.filter(({ method }) => method !== 'GET');
    expect(writes.length).toBeGreaterThan(30);
    for (const { method, path, body } of writes) {
      const headers = { 'sec-fetch-site': 'cross-site', cookie: 'taskq_session=x' };
      const answer = await ask(method, path, { server, body, headers });
      expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 403, 'cross_site']);
    }
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])(
    'as %j is not taken',
    async (type) => {
      open();
      expect((await write({ 'content-type': type })).status).toBe(415);
    },
  );
});

test('a Host that is not the server’s is refused', async () => {
  const server = open({ hosts: ['localhost', '[::1]'] });
  for (const [host, status] of [
    ['localhost:7433', 200],
    ['[::1]:7433', 200],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['', 403],
  ] as const)
    expect((await ask('GET', '/healthz', { server, headers: { host } })).status).toBe(status);
});

test('every answer forbids scripts of others and frames', async () => {
  open();
  for (const path of ['/healthz', '/nowhere', `${API}/tasks`]) {
    const { headers } = await ask('GET', path);
    expect(headers.get('content-security-policy')!.split('; ')).toEqual([
      "default-src 'none'",
      ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
      ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
      "require-trusted-types-for 'script'",
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
});
