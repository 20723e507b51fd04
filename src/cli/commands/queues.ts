import type { CliCommand } from '../command.ts';

/** `taskq queues …`: the lanes, their pauses and their settings. */
export const queues: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list the queues, their pauses and what is set for them (default)',
      isDefault: true,
      load: async () => (await import('./queues/list.ts')).queuesList,
    },
    {
      name: 'pause',
      summary: 'let nothing of a queue start, until resumed or for a time',
      load: async () => (await import('./queues/pause.ts')).queuesPause,
    },
    {
      name: 'resume',
      summary: 'let a paused queue go on',
      load: async () => (await import('./queues/resume.ts')).queuesResume,
    },
    {
      name: 'set',
      summary: 'set what applies to the tasks of a queue',
      load: async () => (await import('./queues/set.ts')).queuesSet,
    },
  ],
};
