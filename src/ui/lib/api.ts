import { parseJson, stringifyJson } from './json.ts';

export interface Misfit {
  /** Where in the body, as a JSON pointer, or the name of a parameter. */
  readonly pointer: string;
  readonly detail: string;
}

/** Why a request failed, in the server's words; status 0: the server cannot be reached. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly errors: readonly Misfit[];
  readonly nearest: readonly string[];

  constructor(status: number, body: ProblemBody) {
    super(body.detail ?? body.code);
    this.status = status;
    this.code = body.code;
    this.hint = body.hint;
    this.errors = body.errors ?? [];
    this.nearest = body.nearest ?? [];
  }

  /** The problem with a member of the body, such as `payload`. */
  at(name: string): string | undefined {
    return this.errors.find(({ pointer }) => pointer === name || `${pointer}/`.startsWith(`/${name}/`))
      ?.detail;
  }
}

interface ProblemBody {
  readonly code: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly errors?: readonly Misfit[];
  readonly nearest?: readonly string[];
}

export type Method = 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Reads from the API. Throws ApiProblem, or AbortError if the signal is aborted. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask('GET', path, undefined, signal)) as T;
}

/** Sends a body to the API. Throws ApiProblem. */
export async function send<T>(method: Method, path: string, body: object = {}): Promise<T> {
  return (await ask(method, path, stringifyJson(body), undefined)) as T;
}

/** Relative to the page: any base path and any proxy. */
const API = 'api/v1/';

async function ask(
  method: string,
  path: string,
  body: string | undefined,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const headers = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  let response: Response;
  let text: string;
  try {
    response = await fetch(API + path, {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiProblem(0, { code: 'unreachable', detail: 'The server cannot be reached.' });
  }
  const answer = parsed(text);
  if (response.ok && answer !== undefined) return answer;
  throw new ApiProblem(response.status, isProblem(answer) ? answer : noProblem(response));
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function isProblem(answer: unknown): answer is ProblemBody {
  return typeof (answer as ProblemBody | null | undefined)?.code === 'string';
}

/** A proxy may answer with its own pages. */
function noProblem({ status, statusText }: Response): ProblemBody {
  return { code: 'no_answer', detail: `Something other than taskq answered: ${status} ${statusText}`.trim() };
}

/** A name as a segment of a path: programs would change those that are empty, `.` or `..`. */
export function segment(name: string): string {
  return encodeURIComponent(/^(?:\.{0,2}$|~)/.test(name) ? `~${name}` : name);
}

/** A path with parameters; those that are undefined or empty are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value ?? ''].flat()) if (one !== '') params.append(name, String(one));
  return params.size === 0 ? path : `${path}?${params}`;
}
