import type { CliCommand } from '../command.ts';

/** `taskq dead …`: the dead letters. */
export const dead: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list dead letters, the last to die first',
      load: async () => (await import('./dead/list.ts')).listDead,
    },
    {
      name: 'show',
      summary: 'show a dead letter with every error',
      load: async () => (await import('./dead/show.ts')).showDead,
    },
    {
      name: 'revive',
      summary: 'bring dead letters back: same id and history, all attempts anew',
      load: async () => (await import('./dead/revive.ts')).reviveDead,
    },
    {
      name: 'discard',
      summary: 'delete dead letters for good',
      load: async () => (await import('./dead/discard.ts')).discardDead,
    },
    {
      name: 'add',
      summary: 'make a waiting task a dead letter, or give a dead one another reason',
      load: async () => (await import('./dead/add.ts')).addDead,
    },
  ],
};
