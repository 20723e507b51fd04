import type { CliCommand } from '../run/command.ts';

/** `taskq defaults …`: the settings that apply where nothing else sets a value. */
export const defaults: CliCommand = {
  subcommands: [
    {
      name: 'show',
      summary: 'show the defaults for all tasks and who set them (default)',
      isDefault: true,
      load: async () => (await import('./defaults/show.ts')).defaultsShow,
    },
    {
      name: 'set',
      summary: 'set the defaults for all tasks',
      load: async () => (await import('./defaults/set.ts')).defaultsSet,
    },
  ],
};
