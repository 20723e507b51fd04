import type { CliCommand } from '../run/command.ts';

/** `taskq keys …`: keys held beyond the end of their tasks. */
export const keys: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list keys held for a period or forever (default)',
      isDefault: true,
      load: async () => (await import('./keys/list.ts')).keysList,
    },
    {
      name: 'show',
      summary: 'show which task holds a key, and until when',
      load: async () => (await import('./keys/show.ts')).keysShow,
    },
    {
      name: 'release',
      summary: 'release keys held for a period or forever',
      load: async () => (await import('./keys/release.ts')).keysRelease,
    },
  ],
};
