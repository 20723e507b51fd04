import type { CliCommand } from '../run/command.ts';

/** `taskq dead …`: the dead letters. */
export const dead: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list dead letters, most recent first',
      load: async () => (await import('./dead/list.ts')).listDead,
    },
    {
      name: 'groups',
      summary: 'group dead letters by their error, largest group first',
      load: async () => (await import('./dead/groups.ts')).deadGroups,
    },
    {
      name: 'show',
      summary: 'show a dead letter with every error',
      load: async () => (await import('./dead/show.ts')).showDead,
    },
    {
      name: 'revive',
      summary: 'run dead letters again: same id and history, attempts reset',
      load: async () => (await import('./dead/revive.ts')).reviveDead,
    },
    {
      name: 'discard',
      summary: 'delete dead letters permanently',
      load: async () => (await import('./dead/discard.ts')).discardDead,
    },
    {
      name: 'add',
      summary: 'make a waiting task a dead letter, or change the reason of one',
      load: async () => (await import('./dead/add.ts')).addDead,
    },
  ],
};
