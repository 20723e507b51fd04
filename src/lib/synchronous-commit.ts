/** When a commit is acknowledged (PostgreSQL's `synchronous_commit`), safest first. */
export const SYNCHRONOUS_COMMITS = ['on', 'remote_write', 'local', 'off'] as const;
export type SynchronousCommit = (typeof SYNCHRONOUS_COMMITS)[number];
