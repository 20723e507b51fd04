import { InvalidPayloadError, UnknownTypeError } from '../domain/errors.ts';
import { isUnanswered } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { stringifyExact } from '../lib/exact-json.ts';
import { isAnyServerError } from '../lib/server-trouble.ts';
import { troubleOf } from '../queue/protocol/refusal.ts';
import type { Misfit } from './schema.ts';

/** The codes that occur only in HTTP answers, for docs/http.md; all others are those of the library. */
export const PROBLEM_CODES = {
  bug: [500, 'a fault of taskq; what the server printed says more'],
  busy: [503, 'the server has too many waits open: try again'],
  cross_site: [403, 'a browser sent the request from another site'],
  forbidden: [403, "the caller's role does not allow this"],
  key_held: [409, 'another task holds the key'],
  method_not_allowed: [405, 'the path takes other methods: see `Allow`'],
  not_found: [404, 'there is no such path or object'],
  other_queue: [403, 'the token is for other queues'],
  request_timeout: [408, 'the request did not arrive in time'],
  server_read_only: [403, 'the server takes no writes: it was started without `--write`'],
  too_large: [413, 'the body is too large'],
  too_slow: [503, 'the database took more than 5 s for a statement'],
  unauthorized: [401, 'no caller is known: send `Authorization: Bearer` and a valid token'],
  unavailable: [503, 'the database cannot be used now: try again after `Retry-After`'],
  unsupported_media_type: [415, 'the body is not JSON: send `Content-Type: application/json`'],
  wrong_host: [403, 'the `Host` of the request is not one of this server'],
  wrong_state: [409, 'the object is not in the state that the verb needs: `state` has its state'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

export type ProblemCode = keyof typeof PROBLEM_CODES;

interface ProblemDetails {
  readonly detail?: string;
  readonly hint?: string | undefined;
  readonly errors?: readonly Misfit[];
  readonly nearest?: readonly string[];
  /** Further members for the code, such as `state` or `holder`. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** An answer that is a problem (RFC 9457). */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: ProblemDetails;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode | readonly [status: number, code: string],
    details: ProblemDetails = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    const [status, name] = typeof code === 'string' ? [PROBLEM_CODES[code][0], code] : code;
    super(details.detail ?? name);
    this.status = status;
    this.code = name;
    this.details = details;
    this.headers = headers;
  }

  toResponse(): Response {
    const { detail = meaningOf(this.code), hint, errors, nearest, more } = this.details;
    const body = { status: this.status, code: this.code, detail, hint, errors, nearest, ...more };
    return new Response(stringifyExact(body), {
      status: this.status,
      headers: { 'content-type': 'application/problem+json', ...this.headers },
    });
  }
}

function meaningOf(code: string): string | undefined {
  return Object.hasOwn(PROBLEM_CODES, code) ? PROBLEM_CODES[code as ProblemCode][1] : undefined;
}

/** A request that does not fit: bad JSON or a bad option. */
export function badRequest(code: string, errors: readonly Misfit[]): Problem {
  const [first] = errors;
  const where = first!.pointer === '' ? '' : `${first!.pointer}: `;
  return new Problem([400, code], { detail: `${where}${first!.detail}`, errors });
}

export function notFound(what: string): Problem {
  return new Problem('not_found', { detail: `there is no ${what}` });
}

/** The status of the library's errors that a client can cause. */
const STATUSES: Readonly<Partial<Record<string, number>>> = {
  bad_backoff: 400,
  bad_duration: 400,
  bad_json: 400,
  bad_name: 400,
  bad_option: 400,
  bad_priority: 400,
  bad_retention: 400,
  bad_setting: 400,
  events_lost: 410,
  invalid_payload: 422,
  key_of_another: 409,
  no_such_operation: 404,
  no_such_schedule: 404,
  no_such_task: 404,
  no_such_worker: 404,
  no_such_workflow: 404,
  refused: 400,
  unexpected_matches: 409,
  unknown_type: 422,
};

const RETRY = { 'retry-after': '5' };

/**
 * Converts an error to a problem for a client. For a server or database fault it reveals only the kind of error:
 * `report` gets the error itself.
 */
export function problemOf(thrown: unknown, report: (error: unknown) => void): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isAnyServerError(thrown) && thrown.code === '57014') return new Problem('too_slow', {}, RETRY);
  const error = troubleOf(thrown, '');
  if (error instanceof TaskqError) {
    const status = STATUSES[error.code];
    if (status !== undefined) return new Problem([status, error.code], detailsOf(error));
  }
  report(error);
  if (error instanceof TaskqError && error.code === 'not_granted') {
    const detail = `the server cannot do this: in the database, ${error.message}`;
    return new Problem([503, error.code], { detail, hint: error.hint }, RETRY);
  }
  if (error instanceof TaskqError || isUnanswered(error)) {
    const detail = 'the database cannot be used now';
    return new Problem('unavailable', { detail }, RETRY);
  }
  return new Problem('bug', { detail: 'a fault of the server' });
}

function detailsOf(error: TaskqError): ProblemDetails {
  return {
    detail: error.message,
    hint: error.hint,
    ...(error instanceof UnknownTypeError && { nearest: error.nearest }),
    ...(error instanceof InvalidPayloadError && {
      errors: [{ pointer: '/payload', detail: error.problem }],
    }),
  };
}
