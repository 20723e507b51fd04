import type { SynchronousCommit } from './synchronous-commit.ts';

/* Without the driver's own types: those of the package reach them, and who installs it need not have its types. */

export interface SessionOptions {
  /**
   * `on` unless told: a weaker value of the database or the role does not hold here; the stronger `remote_apply` does.
   * Every other value is set as it is.
   */
  readonly synchronousCommit?: SynchronousCommit | undefined;
}

/** A session that is as our statements need it, whatever server, database and role say. */
export interface Session {
  /** Whether it is with the server itself. Else a pooler may lend the server to others between two statements. */
  readonly isDirect: boolean;
  /** Why it takes no writes; null: it does. We never change that. */
  readonly readOnly: 'standby' | 'setting' | null;
  /** Behind a pooler, what goes before each statement and holds for its transaction alone. */
  readonly prelude: string;
}

/** What a statement takes: whatever has a text of its own. A document goes as its JSON. */
export type SqlValue = string | number | boolean | bigint | null | undefined | readonly SqlValue[];

export interface SessionStatement {
  /** Prepared once per session under this name, where the session is ours alone. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly SqlValue[];
  /** Never in a transaction with others, as VACUUM demands. */
  readonly isAlone?: true;
}
