import type { CliCommand } from '../run/command.ts';

/** `taskq groups …`: the groups of a queue. */
export const groups: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list the groups of a queue (default)',
      isDefault: true,
      load: async () => (await import('./groups/list.ts')).groupsList,
    },
    {
      name: 'show',
      summary: 'show a group, what stops it and its tasks',
      load: async () => (await import('./groups/show.ts')).groupsShow,
    },
    {
      name: 'set',
      summary: 'set the limit and the rate of a group',
      load: async () => (await import('./groups/set.ts')).groupsSet,
    },
    {
      name: 'pause',
      summary: 'stop starting tasks of a group, until resumed',
      load: async () => (await import('./groups/pause.ts')).groupsPause,
    },
    {
      name: 'resume',
      summary: 'resume a paused group',
      load: async () => (await import('./groups/resume.ts')).groupsResume,
    },
  ],
};
