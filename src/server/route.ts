import type { Queryable } from '../lib/database.ts';
import type { EndWaiter } from '../queue/protocol/end-waiter.ts';
import type { EndRow } from '../queue/protocol/get-ends.ts';
import type { WorkflowEndRow } from '../queue/protocol/get-workflow-ends.ts';
import type { Advancing } from './advancing.ts';
import type { Caller, Role } from './caller.ts';
import type { LiveStats } from './live-stats.ts';
import type { RequestCounts } from './request-counts.ts';
import type { Schema } from './schema.ts';

/** A request that may be answered: its caller is known and may call the route, and its parts fit. */
export interface Call {
  /** The names in the path. */
  readonly path: Readonly<Record<string, string>>;
  /** The parameters of the URL; those that may be given several times are lists. */
  readonly query: Readonly<Record<string, string>>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** The members of the body, without the reason of what is recorded; empty if there is none. Numbers are exact. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The items of a body that is a list. */
  readonly items: readonly unknown[] | null;
  readonly caller: Caller;
  /** The name of the caller, and the reason given. */
  readonly acting: { readonly by: string; readonly reason?: string };
  /** The hash of the caller's token; undefined: the application identified the caller. */
  readonly token: string | undefined;
  readonly headers: Headers;
  /** Read-only if the route only reads. */
  readonly db: Queryable;
  /** The client asked by https, perhaps through a proxy. */
  readonly isSecure: boolean;
  /** The server takes writes. */
  readonly takesWrites: boolean;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly tasks: EndWaiter<EndRow>;
  readonly workflows: EndWaiter<WorkflowEndRow>;
  readonly live: LiveStats;
  readonly requests: RequestCounts;
  /** Advances the server's operations. */
  readonly advancing: Advancing;
}

export interface Answer {
  readonly status: number;
  /** Sent as JSON; if the table names another type, text or a stream that is sent as it is. */
  readonly body: unknown;
}

export interface QueryParameter extends Schema {
  readonly description: string;
  /** May be given several times. */
  readonly isList?: true;
  /** Any number of parameters whose names begin with this one and a dot. */
  readonly isPrefix?: true;
}

export interface AnswerDescription {
  readonly description: string;
  readonly schema: Schema;
  /** Default: `application/json`. */
  readonly type?: string;
}

/** One line of the table from which the router, the authorisation, the document and the manual are made. */
export interface Route {
  /** `GET` never writes. */
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below `api/v1`, unless `isAtRoot`; `{name}` is any name. */
  readonly path: string;
  readonly isAtRoot?: true;
  /** The least role that may call it; `open`: no caller need be known. */
  readonly role: Role | 'open';
  /** What it does, for people. */
  readonly summary: string;
  /** `all`: it covers more than one queue, so callers limited to some queues may not call it. Default: `some`. */
  readonly queues?: 'all';
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly body?: Schema;
  /**
   * A browser requests it by itself: the body may be that of a form, an unknown caller gets a form to sign in, and
   * nothing is written to the database, whatever the method.
   */
  readonly forBrowsers?: true;
  /** A read of many rows, which uses separate sessions. */
  readonly mayTakeLong?: true;
  /** A read that a standby cannot answer. */
  readonly needsPrimary?: true;
  /** The body may also be a list of such bodies, or NDJSON. */
  readonly takesMany?: true;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  handle(call: Call): Promise<Answer | Response>;
}

/** Whether the audit records what a route does. */
export function isRecorded({ method, role, forBrowsers }: Route): boolean {
  return method !== 'GET' && (role === 'operator' || role === 'admin') && forBrowsers !== true;
}

/** The path of a route below the base path. */
export function fullPathOf({ path, isAtRoot }: Pick<Route, 'path' | 'isAtRoot'>): string {
  return isAtRoot ? path : `/api/v1${path}`;
}

/** The answer 200. */
export function ok(body: unknown): Answer {
  return { status: 200, body };
}
