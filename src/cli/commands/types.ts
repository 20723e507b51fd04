import type { CliCommand } from '../command.ts';

/** `taskq types …`: the types of tasks that are known. */
export const types: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list the known types, who handles them and what their handlers say (default)',
      isDefault: true,
      load: async () => (await import('./types/list.ts')).typesList,
    },
    {
      name: 'add',
      summary: 'make types known before any worker has registered them',
      load: async () => (await import('./types/add.ts')).typesAdd,
    },
    {
      name: 'set',
      summary: 'set what applies to the tasks of a type, above what workers say',
      load: async () => (await import('./types/set.ts')).typesSet,
    },
    {
      name: 'remove',
      summary: 'make types unknown again, with what was set for them',
      load: async () => (await import('./types/remove.ts')).typesRemove,
    },
  ],
};
