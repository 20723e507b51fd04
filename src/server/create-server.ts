import { Hono } from 'hono';
import { badOption } from '../lib/bad-option.ts';
import { stringifyExact } from '../lib/exact-json.ts';
import { guarded } from '../lib/guarded.ts';
import { nearest } from '../lib/nearest.ts';
import { EndWaiter, TASK_ENDS } from '../queue/protocol/end-waiter.ts';
import { WORKFLOW_ENDS } from '../queue/protocol/get-workflow-ends.ts';
import { Advancing } from './advancing.ts';
import { authorised, type Known } from './authorised.ts';
import { Bodies, type ReadBody } from './bodies.ts';
import type { Caller } from './caller.ts';
import { LiveStats } from './live-stats.ts';
import { type Databases, openDatabases } from './open-databases.ts';
import { badRequest, notFound, Problem, problemOf } from './problem.ts';
import { refuseForeign, refuseHost } from './refuse-foreign.ts';
import { RequestCounts } from './request-counts.ts';
import { type Call, fullPathOf, isRecorded, type QueryParameter, type Route } from './route.ts';
import { ROUTES } from './route-table.ts';
import type { ServerOptions, TaskqServer } from './server-options.ts';
import { asksToSignIn, isSecure, signInPage } from './sign-in.ts';
import { TokenUses } from './token-uses.ts';

/**
 * Makes an HTTP server for a queue: give its `fetch` to any framework. Opens no connection before the first request.
 * Throws TaskqError for an invalid option.
 */
export function createServer(options: ServerOptions): TaskqServer {
  if ((options.pool === undefined) === (options.databaseUrl === undefined))
    throw badOption('a server needs a database: pass either databaseUrl or pool');
  const server = serverOf(options, openDatabases(options));
  const app = new Hono();
  const base = basePathOf(options);
  if (base !== '') {
    app.get('/', (context) => context.redirect(`${base.slice(1)}/`, 308));
    app.get(base, (context) => context.redirect(`${base.split('/').at(-1)}/`, 308));
  }
  for (const [path, routes] of byPath(base)) {
    for (const route of routes)
      app.on(route.method, path, async ({ req }) => {
        const answer = server.answer(route, req.raw, req.param());
        return server.counted(await answer.catch(server.problem), route);
      });
    const allow = routes.map(({ method }) => method).join(', ');
    const refusal = new Problem('method_not_allowed', { detail: `expected ${allow}` }, { allow });
    app.all(path, () => server.counted(refusal.toResponse()));
  }
  app.notFound(() => server.counted(notFound('such path').toResponse()));
  app.onError((error) => server.counted(server.problem(error)));
  return {
    async fetch(request) {
      return withHeaders(await app.fetch(request));
    },
    close: server.close,
  };
}

/**
 * Headers of every answer. A browser that shows one loads only our own files for it, and shows it in no frame. It sends
 * the referrer to us alone: without one, the sign-in form would have no origin.
 */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** Adds those headers to an answer. */
export function withHeaders(response: Response): Response {
  for (const [name, value] of Object.entries(HEADERS)) response.headers.set(name, value);
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
  return response;
}

function basePathOf({ basePath = '' }: ServerOptions): string {
  const base = basePath.replace(/\/+$/, '');
  if (base === '' || base.startsWith('/')) return base;
  throw badOption(`basePath ${base}: expected a leading /`);
}

/** The routes by their paths, as the router writes them. */
function byPath(base: string): ReadonlyMap<string, readonly Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of ROUTES) {
    const prefix = route.isAtRoot ? base : `${base}/api/v1`;
    const path = `${prefix}${route.path}`.replaceAll(/\{(\w+)\}/g, ':$1');
    paths.set(path, [...(paths.get(path) ?? []), route]);
  }
  return paths;
}

/** A second close waits for the first. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

/** Makes a proxy pass on streams without buffering. */
const UNBUFFERED = { 'x-accel-buffering': 'no' };

/**
 * The most requests answered at once. Requests that wait for an end, and strangers who sign in slowly, do not block
 * other callers, and nothing blocks `/healthz`, which has no body and does not query the database.
 */
const MOST = { callers: 1000, waits: 1000, strangers: 50, health: Number.POSITIVE_INFINITY } as const;

function kindOf({ role, method, path }: Route): keyof typeof MOST {
  if (role === 'open') return method === 'GET' ? 'health' : 'strangers';
  return path.endsWith('/wait') ? 'waits' : 'callers';
}

function serverOf(options: ServerOptions, databases: Databases) {
  const { reads, longReads, primaryReads, writes } = databases;
  const where = { db: reads, connection: undefined, applicationName: 'taskq serve' };
  // Request no notifications: that would write.
  const silent = { ask: async () => {} };
  const tasks = new EndWaiter({ ...where, source: { ...TASK_ENDS, ...silent } });
  const workflows = new EndWaiter({ ...where, source: { ...WORKFLOW_ENDS, ...silent } });
  const bodies = new Bodies();
  const running = { callers: 0, waits: 0, strangers: 0, health: 0 };

  const report = guarded('onError of a taskq server', (error: unknown) => options.onError?.(error));
  const live = new LiveStats({ db: reads, report });
  const requests = new RequestCounts();
  const advancing = new Advancing({ db: writes, report });
  const uses = new TokenUses({ db: writes, report });
  // An operation may be left from before.
  let isFirst = options.write === true;

  /** Known callers who send a body slowly do not count: the bytes of bodies have their own limit. */
  const bodyOf = async (route: Route, request: Request): Promise<ReadBody> => {
    if (route.role === 'open') return bodies.read(request, route);
    const kind = kindOf(route);
    running[kind] -= 1;
    try {
      return await bodies.read(request, route);
    } finally {
      running[kind] += 1;
    }
  };

  /** Answers a request once its caller is known. Throws Problem. */
  const callOf = async (
    route: Route,
    request: Request,
    path: Readonly<Record<string, string>>,
  ): Promise<Call> => {
    const isWrite = route.method !== 'GET' && !route.forBrowsers;
    const { caller, token }: Known =
      route.role === 'open'
        ? { caller: { role: 'viewer' }, token: undefined }
        : await authorised(route, request, { reads, authorize: options.authorize });
    if (route.method !== 'GET') refuseForeign(request);
    const takesWrites = options.write === true;
    if (takesWrites && token !== undefined) uses.add(token);
    if (isWrite && !takesWrites) throw new Problem('server_read_only');
    const parameters = parametersOf(route, new URL(request.url).searchParams);
    const { body: members, items } = await bodyOf(route, request);
    const { acting, body } = actingOf(route, caller, parameters.query, members);
    return {
      path: namesIn(path, request.url),
      ...parameters,
      ...{ body, items, caller, acting, token, takesWrites, isSecure: isSecure(request) },
      ...{ headers: request.headers, signal: request.signal, tasks, workflows, live, requests, advancing },
      db: isWrite ? writes : route.needsPrimary ? primaryReads : route.mayTakeLong ? longReads : reads,
    };
  };

  return {
    problem: (error: unknown) => problemOf(error, report).toResponse(),
    counted(response: Response, route?: Route): Response {
      requests.add(route && { method: route.method, path: fullPathOf(route) }, response.status);
      return response;
    },
    async answer(route: Route, request: Request, path: Readonly<Record<string, string>>): Promise<Response> {
      refuseHost(request, options.hosts);
      const kind = kindOf(route);
      if (running[kind] >= MOST[kind]) throw new Problem('busy', {}, { 'retry-after': '5' });
      running[kind] += 1;
      if (isFirst) advancing.begin();
      isFirst = false;
      try {
        const answer = await route.handle(await callOf(route, request, path));
        if (answer instanceof Response) return answer;
        const { status, body } = answer;
        const { type } = route.answers[status] ?? {};
        // Hono answers HEAD by the route of GET and drops the body, which would stay open.
        if (request.method === 'HEAD' && body instanceof ReadableStream) await body.cancel();
        return type === undefined
          ? new Response(stringifyExact(body), { status, headers: { 'content-type': 'application/json' } })
          : new Response(body as string | ReadableStream, {
              status,
              headers: { 'content-type': type, ...UNBUFFERED },
            });
      } catch (error) {
        // The client is gone, so this answer is never read.
        if (request.signal.aborted) throw new Problem('request_timeout');
        if (route.forBrowsers && asksToSignIn(error, request)) return signInPage(error);
        throw error;
      } finally {
        running[kind] -= 1;
      }
    },
    close: once(async () => {
      const why = new Problem('unavailable', { detail: 'the server was closed' });
      live.close();
      await Promise.all([tasks.close(why), workflows.close(why), advancing.close(), uses.flush()]);
      await databases.close();
    }),
  };
}

/**
 * The names in a path. Programs change a path with the segments `.` and `..`, and drop an empty one: so `~` before a
 * name is no part of it.
 */
function namesIn(path: Readonly<Record<string, string>>, url: string): Record<string, string> {
  const decoded = decodedPath(new URL(url).pathname);
  if (decoded === null) throw new Problem([400, 'bad_name'], { detail: 'the path is not UTF-8' });
  if (/\0/.test(decoded)) throw new Problem([400, 'bad_name'], { detail: 'the path has a NUL character' });
  return Object.fromEntries(Object.entries(path).map(([name, value]) => [name, value.replace(/^~/, '')]));
}

/** Who calls, with the reason for the audit, and the body without it. */
function actingOf(
  route: Route,
  { by = 'http' }: Caller,
  query: Call['query'],
  members: Call['body'],
): Pick<Call, 'acting' | 'body'> {
  if (!isRecorded(route)) return { acting: { by }, body: members };
  const { reason = query.reason, ...body } = members;
  return { acting: { by, ...(typeof reason === 'string' && reason !== '' && { reason }) }, body };
}

/** Returns null: it is not UTF-8. The result is used: a bundler takes the call for one without effect and drops it. */
function decodedPath(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function parameterOf(query: NonNullable<Route['query']>, name: string): QueryParameter | undefined {
  if (Object.hasOwn(query, name)) return query[name];
  const [, prefix = ''] = /^([^.]+)\../.exec(name) ?? [];
  return Object.hasOwn(query, prefix) && query[prefix]!.isPrefix ? query[prefix] : undefined;
}

function parametersOf({ query = {} }: Route, given: URLSearchParams): Pick<Call, 'query' | 'lists'> {
  const values: Record<string, string> = {};
  const lists: Record<string, string[]> = {};
  for (const [name, value] of given) {
    const parameter = parameterOf(query, name);
    const refuse = (detail: string) => badRequest('bad_option', [{ pointer: name, detail }]);
    if (query[name]?.isPrefix) throw refuse(`its name has a path, as in ${name}.order.id=42`);
    if (parameter === undefined) {
      const detail = `unknown parameter ${JSON.stringify(name)}`;
      throw new Problem([400, 'bad_option'], { detail, nearest: nearest(name, Object.keys(query)) });
    }
    if (/\0/.test(value)) throw refuse('has a NUL character');
    if (parameter.enum !== undefined && !parameter.enum.includes(value))
      throw refuse(`expected one of ${parameter.enum.join(', ')}`);
    if (parameter.isList) lists[name] = [...(lists[name] ?? []), value];
    else if (Object.hasOwn(values, name)) throw refuse('is given twice');
    else values[name] = value;
  }
  return { query: values, lists };
}
