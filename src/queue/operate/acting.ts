/** Who acts. The role of the session stands in `taskq.actions` in any case. */
export interface Acting {
  /** A name beside it, for those who look later. */
  readonly by?: string | undefined;
}
