import type { CliCommand } from '../run/command.ts';

/** `taskq types …`: the known types of tasks. */
export const types: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list known types, the workers that handle them and their options (default)',
      isDefault: true,
      load: async () => (await import('./types/list.ts')).typesList,
    },
    {
      name: 'add',
      summary: 'register types before a worker does',
      load: async () => (await import('./types/add.ts')).typesAdd,
    },
    {
      name: 'set',
      summary: 'set options for the tasks of a type, overriding those of workers',
      load: async () => (await import('./types/set.ts')).typesSet,
    },
    {
      name: 'resume',
      summary: 'close the open breaker of a type',
      load: async () => (await import('./types/resume.ts')).typesResume,
    },
    {
      name: 'remove',
      summary: 'forget types and the options set for them',
      load: async () => (await import('./types/remove.ts')).typesRemove,
    },
  ],
};
