import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Caller } from './caller.ts';
import { cookieOf, SESSION_COOKIE, sessionCookie } from './cookies.ts';
import { Problem } from './problem.ts';
import { refuseHost } from './refuse-foreign.ts';
import { isSecure } from './sign-in.ts';

/** Lets one browser in: the first to open the link gets a cookie, which is valid as long as the process runs. */
export class Login {
  readonly #path: string;
  readonly #caller: Caller;
  #key: string | undefined = secret();
  readonly #session = secret();

  readonly #hosts: readonly string[];

  /** `hosts`: the names under which the server may be called. */
  constructor(basePath: string, caller: Caller, hosts: readonly string[]) {
    this.#path = `${basePath}/login`;
    this.#caller = caller;
    this.#hosts = hosts;
  }

  /** The path to open, good once. */
  get link(): string {
    return `${this.#path}?key=${this.#key}`;
  }

  /** Answers a request for the link; undefined for any other request. */
  answer(request: Request): Response | undefined {
    if (new URL(request.url).pathname !== this.#path) return undefined;
    try {
      return this.#letIn(request);
    } catch (error) {
      if (error instanceof Problem) return error.toResponse();
      throw error;
    }
  }

  #letIn(request: Request): Response {
    refuseHost(request, this.#hosts);
    if (request.method !== 'GET' || !isSame(new URL(request.url).searchParams.get('key'), this.#key))
      throw new Problem('unauthorized', {
        detail: 'the link is not the one that was printed last, or has been used: start the server again',
      });
    this.#key = undefined;
    const cookie = sessionCookie(SESSION_COOKIE, this.#session, isSecure(request));
    return new Response(null, {
      status: 303,
      headers: { location: './', 'set-cookie': cookie, 'cache-control': 'no-store' },
    });
  }

  /** The caller of a request; null: it is not the browser that was let in. */
  callerOf({ headers }: Request): Caller | null {
    return isSame(cookieOf(headers, SESSION_COOKIE) ?? null, this.#session) ? this.#caller : null;
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function isSame(given: string | null, expected: string | undefined): boolean {
  if (given === null || expected === undefined) return false;
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
