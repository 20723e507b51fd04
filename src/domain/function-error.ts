/** How the call of a SQL function has failed, as the name of an error. */
export type FunctionFault =
  /** There is no function of this name that takes one jsonb. */
  | 'UnknownFunction'
  /** The role may not call it. */
  | 'FunctionNotGranted'
  /** It raised an error, or answered that it has failed. */
  | 'FunctionFailed'
  /** It has answered something that cannot be read. */
  | 'InvalidAnswer';

/** The server's report of an error. */
export interface ServerReport {
  /** SQLSTATE. */
  readonly code?: string | undefined;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  /** The context: which functions were running. */
  readonly where?: string | undefined;
}

/** A SQL function that could not be called, or has failed. Its stack has the server's detail, hint and context. */
export class FunctionError extends Error {
  /** SQLSTATE; undefined: the server raised nothing. */
  readonly code: string | undefined;

  constructor(fault: FunctionFault, message: string, report: ServerReport = {}) {
    super(message);
    this.name = fault;
    this.code = report.code;
    const parts = { DETAIL: report.detail, HINT: report.hint, CONTEXT: report.where };
    const lines = Object.entries(parts).flatMap(([part, text]) => (text ? [`${part}: ${text}`] : []));
    this.stack = [`${fault}: ${message}`, ...lines].join('\n');
  }
}
