export type { PgClient, PgPool } from './lib/pg-client.ts';
export type { Caller, Role } from './server/caller.ts';
export { createServer } from './server/create-server.ts';
export type { Authorize, ServerOptions, TaskqServer } from './server/server-options.ts';
