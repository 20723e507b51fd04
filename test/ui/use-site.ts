import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createServer, type ServerOptions, type TaskqServer } from '../../src/serve.ts';
import type { Role } from '../../src/server/caller.ts';
import { type Listening, listen } from '../../src/server/listen.ts';
import { type QueueDatabase, useDatabase } from '../queue/session.ts';

const CHROMIUM = '/usr/bin/chromium-headless-shell';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

/** Debian's, without a window. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

export interface Opening {
  /** Default: admin. */
  readonly role?: Role;
  readonly queues?: readonly string[];
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** The browser paints late, and its timers are late, as on a busy machine. */
  readonly isLate?: boolean;
}

export interface Site {
  readonly database: QueueDatabase;
  /** Where the pages are; ends with a slash. */
  readonly url: string;
  /** Opens a screen in a context of its own, and waits for its heading. It is closed after the test. */
  open(fragment: string, opening?: Opening): Promise<OpenPage>;
  /** Answers requests below `api/v1/` that match, instead of the server, until the test ends. */
  answer(path: RegExp, answer: (request: Request) => Response | Promise<Response>): void;
  /** Takes a sample, which the pages get from the live feed. */
  sample(): Promise<void>;
  /** Every answer of the API is that the database is away, until what it returns is called, or the test ends. */
  loseDatabase(): () => void;
}

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the console has that is not expected; a failed request is, where a test is about that. */
  faults(options?: { readonly requestsFail: boolean }): readonly string[];
}

/** A server with the pages and one browser for the tests of this file, which share a database. */
export function useSite(options: Partial<ServerOptions> = {}): Site {
  const database = useDatabase();
  const contexts: BrowserContext[] = [];
  const answers: { readonly path: RegExp; answer(request: Request): Response | Promise<Response> }[] = [];
  let browser: Browser;
  let server: TaskqServer;
  let listening: Listening;
  beforeAll(async () => {
    server = createServer({
      databaseUrl: database.url,
      write: true,
      authorize: ({ headers }) => ({
        role: (headers.get('x-role') ?? 'admin') as Role,
        by: 'ann',
        queues: headers.get('x-queues')?.split(',') ?? null,
      }),
      ...options,
    } as ServerOptions);
    const fetch = async (request: Request) => {
      const { pathname } = new URL(request.url);
      const found = answers.find(({ path }) => pathname.includes('/api/v1/') && path.test(pathname));
      return found === undefined ? server.fetch(request) : found.answer(request);
    };
    [browser, listening] = await Promise.all([
      launchBrowser(),
      listen(fetch, { host: '127.0.0.1', port: 0 }),
    ]);
  });
  afterEach(async () => {
    answers.length = 0;
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });
  afterAll(async () => {
    await browser.close();
    await listening.close();
    await server.close();
  });
  return {
    database,
    get url() {
      return `${listening.origin}/`;
    },
    async open(fragment, opening = {}) {
      const { role, queues, theme = 'light', width = 1280, height = 800, isLate = false } = opening;
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'UTC',
        extraHTTPHeaders: { ...(role && { 'x-role': role }), ...(queues && { 'x-queues': queues.join() }) },
      });
      context.setDefaultTimeout(120_000);
      contexts.push(context);
      const page = await context.newPage();
      if (isLate) await page.addInitScript(LATE);
      const said: string[] = [];
      page.on('console', (message) => said.push(message.text()));
      page.on('pageerror', (error) => said.push(String(error)));
      await page.goto(`${listening.origin}/${fragment}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      return {
        page,
        context,
        faults: ({ requestsFail } = { requestsFail: false }) =>
          requestsFail ? said.filter((text) => !text.startsWith('Failed to load resource')) : said,
      };
    },
    answer: (path, answer) => void answers.unshift({ path, answer }),
    async sample() {
      await database.admin.rows("update taskq.sampling set sampled_at = '-infinity'");
      await database.admin.rows('select taskq.take_sample(), taskq.fold_counts()');
    },
    loseDatabase: () => {
      const away = { path: /(?<!caller)$/, answer: () => problem(503, 'unavailable') };
      answers.unshift(away);
      return () => void answers.splice(answers.indexOf(away), 1);
    },
  };
}

/** Runs in the browser, before the page does. */
const LATE = `{
  const frame = requestAnimationFrame;
  const later = setTimeout;
  globalThis.requestAnimationFrame = (run) => later(() => frame(run), 400);
  globalThis.setTimeout = (run, ms = 0, ...more) => later(run, ms + 400, ...more);
}`;

/** An answer that is a problem. */
export function problem(status: number, code: string, more: object = {}): Response {
  const headers = { 'content-type': 'application/problem+json' };
  return new Response(JSON.stringify({ status, code, ...more }), { status, headers });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What axe-core finds wrong with a page, in both themes. It runs in a world of its own: that of the page takes no foreign
 * script.
 */
export async function violationsIn(page: Page): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  });
  await session.send('Runtime.evaluate', { contextId, expression: AXE });
  const run = async (options: string) => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      contextId,
      awaitPromise: true,
      returnByValue: true,
      expression: `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) =>
        id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + failureSummary).join('; ')))`,
    });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value as readonly string[];
  };
  await page.emulateMedia({ colorScheme: 'light' });
  const inLight = await run('');
  // A theme changes colours, and nothing else.
  await page.emulateMedia({ colorScheme: 'dark' });
  const inDark = await run("{ runOnly: ['color-contrast'] }");
  await session.detach();
  return [...inLight, ...inDark];
}

/** Asserts that a page is usable by everyone in both themes, and fits its window. */
export async function expectUsable({ page }: Pick<OpenPage, 'page'>): Promise<void> {
  expect(await violationsIn(page)).toEqual([]);
  await expectFits({ page });
}

/** Asserts that a page needs no scrolling to the side, in its window or in one of another width. */
export async function expectFits(
  { page }: Pick<OpenPage, 'page'>,
  width = page.viewportSize()!.width,
): Promise<void> {
  await page.setViewportSize({ ...page.viewportSize()!, width });
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
}

/** Asserts that no text of `HOSTILE` has done anything, and that the page is still whole. */
export async function expectInert({ page, faults }: OpenPage): Promise<void> {
  expect(await page.evaluate('window.hit')).toBeUndefined();
  expect(await page.locator('iframe, base, main script, main img, main style').count()).toBe(0);
  const { width } = page.viewportSize()!;
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  expect(faults()).toEqual([]);
}
