import type { Backoff } from '../domain/backoff.ts';

/** A validator of any library that speaks Standard Schema (https://standardschema.dev), version 1. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Why a handler was asked to end. */
export type AbortReason = 'timeout' | 'cancelled' | 'lost' | 'shutdown';

/** Writes log lines that name the task. Fields are added to the line. */
export interface TaskLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What a handler is told besides its payload. */
export interface TaskContext {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  /** 1 for the first attempt: the failed ones so far, plus this one. */
  readonly attempt: number;
  /** Aborted when the handler is to end; its `reason` is an AbortReason. */
  readonly signal: AbortSignal;
  readonly log: TaskLog;
}

/** `inline`: in the worker's own process. `process`: in a child process, which can be killed. */
export type Isolation = 'inline' | 'process';

/** What a handler file may export by default, besides a bare function. */
export interface HandlerDefinition<Payload = unknown> {
  /** Checked before a task is enqueued from here, and again before each run. */
  readonly schema?: StandardSchema<Payload>;
  /** The longest an attempt may take: `'30s'`, or milliseconds. */
  readonly timeout?: string | number;
  readonly maxAttempts?: number | 'unlimited';
  readonly backoff?: Backoff;
  /** How long a finished task is kept: `'none'`, `'ever'`, or days such as `'7d'`. */
  readonly retention?: string;
  readonly isolation?: Isolation;
  /** What it returns is the task's result; what it throws is a failed attempt. */
  run(payload: Payload, ctx: TaskContext): unknown;
}

/** Say what a handler is. Returns it as it is; it is there for the types. */
export function defineHandler<Payload = unknown>(
  definition: HandlerDefinition<Payload>,
): HandlerDefinition<Payload> {
  return definition;
}
