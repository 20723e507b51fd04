/** Who acts, and why: recorded in the audit beside the session's role. */
export interface ActingSettings {
  /** Name to record beside the session's role. */
  readonly by?: string;
  /** Why, for the record: at most 1,000 characters. */
  readonly reason?: string;
}
