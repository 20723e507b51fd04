import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/lib/package-root.ts';
import { readRelease } from '../../src/queue/schema/schema-release.ts';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const HTML = { accept: 'text/html,application/xhtml+xml' };
const PAGES = join(packageRoot(), 'dist/bundled/ui');

test('all files of the pages together have at most 60 kB, compressed', () => {
  const sizes = readdirSync(PAGES).map((name) => gzipSync(readFileSync(join(PAGES, name))).length);
  expect(sizes.length).toBeGreaterThan(3);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(60_000);
});

test('the page has no script, style or address of its own or of others', () => {
  const page = readFileSync(join(PAGES, 'index.html'), 'utf8');
  expect(page).not.toMatch(
    /<style|style=|<script(?! type="module" src="assets\/)|\son\w+=|https?:|(?:href|src)="\//,
  );
});

test.each([
  ['/', {}],
  ['/a/b/', { basePath: '/a/b' }],
])('the page at %s names files that are there, and that a browser may keep', async (path, options) => {
  const server = open(options);
  const page = await server.fetch(new Request(`http://localhost${path}`));
  expect(page.headers.get('cache-control')).toBe('no-store');
  const text = await page.text();
  const files = [...text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, file]) => file!);
  expect(files.map((file) => file.replace(/.*\./, ''))).toEqual(['svg', 'css', 'js']);
  for (const file of files) {
    const url = new URL(file, `http://localhost${path}`);
    const found = await server.fetch(new Request(url));
    expect([found.status, found.headers.get('cache-control')]).toEqual([
      200,
      'private, max-age=31536000, immutable',
    ]);
    expect(await found.text()).toBe(readFileSync(join(PAGES, file.slice('assets/'.length)), 'utf8'));
    const headers = { 'if-none-match': found.headers.get('etag')! };
    expect((await server.fetch(new Request(url, { headers }))).status).toBe(304);
    // Who mounts the server compresses: a framework may drop the header that says that it was done.
    const taking = new Request(url, { headers: { 'accept-encoding': 'gzip, br' } });
    expect((await server.fetch(taking)).headers.has('content-encoding')).toBe(false);
  }
});

test('the base path without a slash, and the root, lead to the pages', async () => {
  const server = open({ basePath: '/a/b/' });
  for (const path of ['/', '/a/b']) {
    const { status, headers } = await server.fetch(new Request(`http://localhost${path}`));
    expect([status, new URL(headers.get('location')!, `http://localhost${path}`).pathname]).toEqual([
      308,
      '/a/b/',
    ]);
  }
});

/** A browser that keeps cookies as browsers do: below the directory of the path that set them. */
function browserAt(send: (request: Request) => Response | Promise<Response>) {
  const jar = new Map<string, { readonly value: string; readonly path: string }>();
  return {
    jar,
    async go(method: string, url: string, body?: string, extra: Readonly<Record<string, string>> = {}) {
      const { pathname, origin } = new URL(url);
      const sent = [...jar].filter(
        ([, { path }]) => pathname === path || pathname.startsWith(path.replace(/\/?$/, '/')),
      );
      const headers = {
        ...{ ...HTML, cookie: sent.map(([name, { value }]) => `${name}=${value}`).join('; ') },
        ...(method !== 'GET' && { ...FORM, 'sec-fetch-site': 'same-origin', origin }),
        ...extra,
      };
      const response = await send(new Request(url, { method, headers, ...(body !== undefined && { body }) }));
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^(\w+)=([^;]*)/.exec(cookie)!;
        const path = pathname.slice(0, pathname.lastIndexOf('/')) || '/';
        if (cookie.includes('Max-Age=0')) jar.delete(name!);
        else jar.set(name!, { value: value!, path });
      }
      return response;
    },
  };
}

test.each<[where: string, mount: (fetch: (request: Request) => Promise<Response>) => Hono, basePath: string]>(
  [
    ['/', (fetch) => new Hono().all('/*', ({ req }) => fetch(req.raw)), '/'],
    ['/a/b/', (fetch) => new Hono().all('/a/b/*', ({ req }) => fetch(req.raw)), '/a/b/'],
    [
      '/proxied/',
      (fetch) =>
        new Hono().all('/proxied/*', ({ req }) =>
          fetch(new Request(req.url.replace('/proxied/', '/'), req.raw)),
        ),
      '/',
    ],
  ],
)(
  'below %s people sign in with a token and out, and a revoked token ends it',
  async (where, mount, basePath) => {
    const server = open({ authorize: () => null, basePath });
    const app = mount(server.fetch);
    const { go, jar } = browserAt((request) => app.fetch(request));
    const at = (path: string) => `http://localhost${where}${path}`;

    const form = await go('GET', at(''));
    expect([form.status, form.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
    const page = await form.text();
    expect(page).toContain('action="sign-in"');
    expect(page).not.toMatch(/<script|<style|style=|<link/);
    const action = new URL('sign-in', at('')).href;

    const wrong = await go('POST', action, 'token=taskq_wrong');
    expect([wrong.status, await wrong.text()]).toEqual([401, expect.stringContaining('not valid')]);
    expect(jar.size).toBe(0);

    const name = `browser of ${where}`;
    const secret = await token({ role: 'operator' });
    const signed = await go('POST', action, `token=+${secret}+`);
    expect([signed.status, new URL(signed.headers.get('location')!, action).href]).toEqual([303, at('')]);
    expect(signed.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect((await go('GET', at(''))).status).toBe(200);
    const caller = await go('GET', at('api/v1/caller'));
    expect([name, caller.status, await caller.json()]).toEqual([
      name,
      200,
      expect.objectContaining({ role: 'operator' }),
    ]);

    const pause = (extra: Record<string, string>) =>
      go('POST', at('api/v1/queues/mail/pause'), '{}', { 'content-type': 'application/json', ...extra });
    expect((await pause({})).status).toBe(200);
    expect((await pause({ 'sec-fetch-site': 'cross-site', origin: 'http://evil.example' })).status).toBe(403);

    expect((await go('POST', at('sign-out'), '')).status).toBe(303);
    expect(jar.size).toBe(0);
    expect((await go('GET', at(''))).status).toBe(401);

    await go('POST', action, `token=${secret}`);
    await database.admin.rows('delete from taskq.tokens');
    expect((await go('GET', at('api/v1/caller'))).status).toBe(401);
  },
);

test('a cookie is only sent back by https where the page came by it', async () => {
  const server = open({ authorize: () => null });
  const secret = await token({ role: 'viewer' });
  const signed = await server.fetch(
    new Request('http://localhost/sign-in', {
      method: 'POST',
      headers: { ...FORM, 'sec-fetch-site': 'same-origin', 'x-forwarded-proto': 'https' },
      body: `token=${secret}`,
    }),
  );
  expect(signed.headers.get('set-cookie')).toMatch(/; Secure$/);
});

test('no other site signs a browser in or out', async () => {
  open({ authorize: () => null });
  const secret = await token({ role: 'admin' });
  for (const path of ['/sign-in', '/sign-out']) {
    const headers = { ...FORM, 'sec-fetch-site': 'cross-site', cookie: `taskq_token=${secret}` };
    const refused = await ask('POST', path, { text: `token=${secret}`, headers });
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
  }
});

test('a token that is no longer valid hides no caller that the application knows', async () => {
  open({ authorize: () => ({ role: 'viewer' }) });
  const asked = await ask('GET', '/api/v1/caller', { headers: { cookie: 'taskq_token=taskq_gone' } });
  expect([asked.status, asked.body.role]).toEqual([200, 'viewer']);
});

test('a caller is told who asks, and whether writes are taken', async () => {
  const { number: release } = await readRelease();
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  const same = { version, release };
  open({ authorize: () => ({ role: 'operator', by: 'ann', queues: ['mail-*'] }) });
  const limited = await ask('GET', '/api/v1/caller');
  expect(limited.body).toEqual({ ...same, role: 'operator', name: 'ann', queues: ['mail-*'], write: true });
  open({ write: false, authorize: () => ({ role: 'viewer' }) });
  const reader = await ask('GET', '/api/v1/caller');
  expect(reader.body).toEqual({ ...same, role: 'viewer', name: null, queues: null, write: false });
});
