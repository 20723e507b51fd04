import type { CliCommand } from '../command.ts';

/** `taskq db …`: the PostgreSQL of our own that is used where none is configured. */
export const db: CliCommand = {
  subcommands: [
    {
      name: 'start',
      summary: 'start the local PostgreSQL and make the database of this project',
      load: async () => (await import('./db/start.ts')).dbStart,
    },
    {
      name: 'stop',
      summary: 'stop the local PostgreSQL, whoever is connected; the data stays',
      load: async () => (await import('./db/stop.ts')).dbStop,
    },
    {
      name: 'status',
      summary: 'say whether the local PostgreSQL runs, and where',
      load: async () => (await import('./db/status.ts')).dbStatus,
    },
    {
      name: 'url',
      summary: "print the URL of this project's database on the local PostgreSQL, for psql",
      load: async () => (await import('./db/url.ts')).dbUrl,
    },
    {
      name: 'logs',
      summary: "print the end of the local PostgreSQL's log",
      load: async () => (await import('./db/logs.ts')).dbLogs,
    },
    {
      name: 'reset',
      summary: 'delete the database of this project on the local PostgreSQL',
      load: async () => (await import('./db/reset.ts')).dbReset,
    },
  ],
};
