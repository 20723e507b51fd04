import type { ErrorCode } from './error-codes.ts';

/** Exit codes of the binary; see docs/reference.md. */
export const EXIT = { done: 0, failed: 1, usage: 2, schema: 3, deadline: 4 } as const;

/** An exit code that an error can have. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The errors that end the binary with another exit code than 1. */
const EXIT_CODES: Partial<Record<ErrorCode, ExitCode>> = {
  bad_backoff: EXIT.usage,
  bad_config: EXIT.usage,
  bad_duration: EXIT.usage,
  bad_file: EXIT.usage,
  bad_handler: EXIT.usage,
  bad_items: EXIT.usage,
  bad_json: EXIT.usage,
  bad_name: EXIT.usage,
  bad_option: EXIT.usage,
  bad_priority: EXIT.usage,
  bad_retention: EXIT.usage,
  bad_setting: EXIT.usage,
  database_unsuitable: EXIT.usage,
  duplicate_handler: EXIT.usage,
  embedded_path_too_long: EXIT.usage,
  env_file_unreadable: EXIT.usage,
  handler_broken_link: EXIT.usage,
  handler_not_executable: EXIT.usage,
  handler_not_loaded: EXIT.usage,
  handler_not_ready: EXIT.usage,
  handler_outside: EXIT.usage,
  invalid_payload: EXIT.usage,
  key_of_another: EXIT.usage,
  module_not_loaded: EXIT.usage,
  no_database: EXIT.usage,
  no_handlers: EXIT.usage,
  not_confirmed: EXIT.usage,
  pooled_connection: EXIT.usage,
  refused: EXIT.usage,
  statement_pooling: EXIT.usage,
  unknown_type: EXIT.usage,
  usage: EXIT.usage,
  schema_behind: EXIT.schema,
  schema_differs: EXIT.schema,
  schema_missing: EXIT.schema,
  schema_newer: EXIT.schema,
  wait_deadline: EXIT.deadline,
};

export interface TaskqErrorOptions {
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
    this.exitCode = exitCodeOf(code, options.cause);
    this.hint = options.hint;
  }
}

/** An enqueue that failed midway has the exit code of its cause. */
function exitCodeOf(code: ErrorCode, cause: unknown): ExitCode {
  if (code === 'partly_enqueued' && cause instanceof TaskqError) return cause.exitCode;
  return EXIT_CODES[code] ?? EXIT.failed;
}
