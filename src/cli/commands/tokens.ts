import type { CliCommand } from '../run/command.ts';

/** `taskq tokens …`: who may call the HTTP API. */
export const tokens: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list tokens: names, roles, queues and times (default)',
      isDefault: true,
      load: async () => (await import('./tokens/list.ts')).tokensList,
    },
    {
      name: 'add',
      summary: 'make a token, and print it once',
      load: async () => (await import('./tokens/add.ts')).tokensAdd,
    },
    {
      name: 'revoke',
      summary: 'remove tokens: requests with them are refused from now on',
      load: async () => (await import('./tokens/revoke.ts')).tokensRevoke,
    },
  ],
};
