import type { Queryable } from '../lib/database.ts';
import { findToken } from '../queue/inspect/find-token.ts';
import { type Caller, mayAs, type Role } from './caller.ts';
import { Problem } from './problem.ts';
import type { Route } from './route.ts';
import type { Authorize } from './server-options.ts';
import { hashOf, TOKEN_PREFIX } from './token.ts';

/** Returns who calls a route with this request. Throws Problem: 401 if that is unknown, 403 if the role is too weak. */
export async function authorised(
  route: Route,
  request: Request,
  { reads, authorize }: { readonly reads: Queryable; readonly authorize: Authorize | undefined },
): Promise<Caller> {
  const token = bearerOf(request);
  const caller =
    token === undefined
      ? ((await authorize?.(request)) ?? null)
      : await callerOf(reads, token, authorize, request);
  if (caller === null)
    throw new Problem('unauthorized', { detail: 'send a valid token' }, { 'www-authenticate': 'Bearer' });
  const least = route.role as Role;
  if (!mayAs(caller, least))
    throw new Problem('forbidden', { detail: `expected the role ${least}, found ${caller.role}` });
  if (route.queues === 'all' && caller.queues != null)
    throw new Problem('other_queue', { detail: 'this is about all queues, and the token is for some' });
  return caller;
}

/** A token of ours, or another that the application knows. */
async function callerOf(
  db: Queryable,
  token: string,
  authorize: Authorize | undefined,
  request: Request,
): Promise<Caller | null> {
  if (!token.startsWith(TOKEN_PREFIX)) return (await authorize?.(request)) ?? null;
  const found = await findToken(db, hashOf(token));
  return found === undefined ? null : { role: found.role, by: found.name, queues: found.queues };
}

/** The hash of a token of ours that a request has. */
export function tokenHashOf(request: Request): string | undefined {
  const token = bearerOf(request);
  return token?.startsWith(TOKEN_PREFIX) ? hashOf(token) : undefined;
}

function bearerOf({ headers }: Request): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
}
