/** How sure a commit is before it is answered, in PostgreSQL's words, the surest first. */
export const SYNCHRONOUS_COMMITS = ['on', 'remote_write', 'local', 'off'] as const;
export type SynchronousCommit = (typeof SYNCHRONOUS_COMMITS)[number];
