import type { ErrorCode } from './error-codes.ts';

/** Exit codes of the binary; see docs/reference.md. */
export const EXIT = { done: 0, failed: 1, usage: 2, schema: 3, deadline: 4 } as const;

/** An exit code that an error can have. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface TaskqErrorOptions {
  /** The exit code of the binary when this error ends it; default 1. */
  readonly exitCode?: ExitCode;
  /** What the operator can do about it, as a sentence without a period. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * An error that an operator can act on. Printed as one line: the message (what is wrong and where it came from) and the
 * hint (what to do). Every other error is a bug and keeps its stack.
 */
export class TaskqError extends Error {
  /** Identifies the kind of error, such as `bad_option`; docs/reference.md has all of them. */
  readonly code: ErrorCode;
  /** The exit code of the binary when this error ends it. */
  readonly exitCode: ExitCode;
  /** What the operator can do about it; undefined if unknown. */
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: TaskqErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TaskqError';
    this.code = code;
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.hint = options.hint;
  }
}
