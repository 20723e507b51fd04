import type { Queryable } from '../lib/database.ts';
import { findToken } from '../queue/inspect/find-token.ts';
import { type Caller, mayAs, type Role } from './caller.ts';
import { cookieOf, TOKEN_COOKIE } from './cookies.ts';
import { Problem } from './problem.ts';
import type { Route } from './route.ts';
import type { Authorize } from './server-options.ts';
import { hashOf, TOKEN_PREFIX } from './token.ts';

/** The caller, and the hash of its token; undefined: the application identified it. */
export interface Known {
  readonly caller: Caller;
  readonly token: string | undefined;
}

interface Knowing {
  readonly reads: Queryable;
  readonly authorize: Authorize | undefined;
}

/** Returns who calls a route with this request. Throws Problem: 401 if that is unknown, 403 if the role is too weak. */
export async function authorised(route: Route, request: Request, knowing: Knowing): Promise<Known> {
  const known = await knownBy(request, knowing);
  if (known === null)
    throw new Problem('unauthorized', { detail: 'send a valid token' }, { 'www-authenticate': 'Bearer' });
  const { caller } = known;
  const least = route.role as Role;
  if (!mayAs(caller, least))
    throw new Problem('forbidden', {
      detail: `expected the role ${least}, found ${caller.role}`,
      hint: 'send a token of that role as `Authorization: Bearer`: see taskq tokens add --help',
    });
  if (route.queues === 'all' && caller.queues != null)
    throw new Problem('other_queue', { detail: 'this is about all queues, and the token is for some' });
  return known;
}

/**
 * By a bearer, or else by the cookie of a browser; the database is asked about a token with every request. Without a
 * valid token of ours, the application may know the caller, unless the bearer looks like one of ours.
 */
async function knownBy(request: Request, { reads, authorize }: Knowing): Promise<Known | null> {
  const bearer = bearerOf(request);
  const token = bearer ?? cookieOf(request.headers, TOKEN_COOKIE);
  const found = token === undefined ? null : await callerOfToken(reads, token);
  if (found !== null) return { caller: found, token: hashOf(token!) };
  if (bearer?.startsWith(TOKEN_PREFIX)) return null;
  const caller = (await authorize?.(request)) ?? null;
  return caller && { caller, token: undefined };
}

/** Returns the caller to whom a token belongs; null: it is unknown or no longer valid. */
export async function callerOfToken(db: Queryable, token: string): Promise<Caller | null> {
  if (!token.startsWith(TOKEN_PREFIX)) return null;
  const found = await findToken(db, hashOf(token));
  return found === undefined ? null : { role: found.role, by: found.name, queues: found.queues };
}

function bearerOf({ headers }: Request): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
}
