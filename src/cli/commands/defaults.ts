import type { CliCommand } from '../command.ts';

/** `taskq defaults …`: what applies where nothing else says it. */
export const defaults: CliCommand = {
  subcommands: [
    {
      name: 'show',
      summary: 'show what applies to tasks whose type and queue say nothing, and who said so (default)',
      isDefault: true,
      load: async () => (await import('./defaults/show.ts')).defaultsShow,
    },
    {
      name: 'set',
      summary: 'set what applies to tasks whose type and queue say nothing',
      load: async () => (await import('./defaults/set.ts')).defaultsSet,
    },
  ],
};
