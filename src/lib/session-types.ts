import type { SynchronousCommit } from './synchronous-commit.ts';

/* Uses no types of the driver: the package's public types reach these, and its users may not have `@types/pg`. */

export interface SessionOptions {
  /**
   * Default `on`, which overrides weaker values of the database or the role but keeps the stronger `remote_apply`. Any
   * other value is set as it is.
   */
  readonly synchronousCommit?: SynchronousCommit | undefined;
  /** The server ends a statement after this many milliseconds (57014); default: it does not. */
  readonly statementTimeoutMs?: number | undefined;
  /** The session refuses every write (25006), whatever the role may do. */
  readonly readOnly?: true | undefined;
}

/** A session with the settings our statements need, whatever the defaults of the server, database and role. */
export interface Session {
  /** Whether it connects to the server itself. If not, a pooler may switch servers between two statements. */
  readonly isDirect: boolean;
  /** Why it takes no writes; null if it does. We never change that. */
  readonly readOnly: 'standby' | 'setting' | null;
  /** Behind a pooler, text sent before each statement, for its transaction alone. */
  readonly prelude: string;
}

/** A value of a statement. Pass a JSON document as its text. */
export type SqlValue = string | number | boolean | bigint | null | undefined | readonly SqlValue[];

export interface SessionStatement {
  /** Name of its prepared statement, in a session that is ours alone. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly SqlValue[];
  /** Never run in a transaction with others, as VACUUM requires. */
  readonly isAlone?: true;
}
