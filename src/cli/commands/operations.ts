import type { CliCommand } from '../run/command.ts';

/** `taskq operations …`: verbs on many tasks that the database keeps. */
export const operations: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list operations, newest first (default)',
      isDefault: true,
      load: async () => (await import('./operations/list.ts')).operationsList,
    },
    {
      name: 'show',
      summary: 'show an operation and what failed',
      load: async () => (await import('./operations/show.ts')).operationsShow,
    },
    {
      name: 'wait',
      summary: 'follow an operation until it has ended',
      load: async () => (await import('./operations/wait.ts')).operationsWait,
    },
    {
      name: 'stop',
      summary: 'stop an operation; what it has done stays done',
      load: async () => (await import('./operations/stop.ts')).operationsStop,
    },
  ],
};
