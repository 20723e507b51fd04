/** Who acts. `taskq.actions` always records the role of the session. */
export interface Acting {
  /** A name to record beside the role. */
  readonly by?: string | undefined;
}
