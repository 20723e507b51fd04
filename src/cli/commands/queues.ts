import type { CliCommand } from '../run/command.ts';

/** `taskq queues …`: queues, their pauses and their settings. */
export const queues: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list queues with their pauses and settings (default)',
      isDefault: true,
      load: async () => (await import('./queues/list.ts')).queuesList,
    },
    {
      name: 'pause',
      summary: 'stop starting tasks of a queue, until resumed or for a time',
      load: async () => (await import('./queues/pause.ts')).queuesPause,
    },
    {
      name: 'resume',
      summary: 'resume a paused queue',
      load: async () => (await import('./queues/resume.ts')).queuesResume,
    },
    {
      name: 'set',
      summary: 'set options for the tasks of a queue',
      load: async () => (await import('./queues/set.ts')).queuesSet,
    },
  ],
};
