import type { CliCommand } from '../run/command.ts';

/** `taskq db …`: our own PostgreSQL, used where no database is configured. */
export const db: CliCommand = {
  subcommands: [
    {
      name: 'start',
      summary: "start the local PostgreSQL and create this project's database",
      load: async () => (await import('./db/start.ts')).dbStart,
    },
    {
      name: 'stop',
      summary: 'stop the local PostgreSQL, of all your projects, and close all connections; data is kept',
      load: async () => (await import('./db/stop.ts')).dbStop,
    },
    {
      name: 'status',
      summary: 'show whether the local PostgreSQL is running, and where',
      load: async () => (await import('./db/status.ts')).dbStatus,
    },
    {
      name: 'url',
      summary: "print the URL of this project's local database, for psql",
      load: async () => (await import('./db/url.ts')).dbUrl,
    },
    {
      name: 'logs',
      summary: "print the last lines of the local PostgreSQL's log",
      load: async () => (await import('./db/logs.ts')).dbLogs,
    },
    {
      name: 'reset',
      summary: "delete this project's local database",
      load: async () => (await import('./db/reset.ts')).dbReset,
    },
  ],
};
