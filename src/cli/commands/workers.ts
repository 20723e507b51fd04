import type { CliCommand } from '../command.ts';

/** `taskq workers …`: the processes that run tasks. */
export const workers: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list the workers and what they do (default)',
      isDefault: true,
      load: async () => (await import('./workers/list.ts')).workersList,
    },
    {
      name: 'pause',
      summary: 'let workers claim nothing until resumed',
      load: async () => (await import('./workers/pause.ts')).workersPause,
    },
    {
      name: 'resume',
      summary: 'let paused workers claim again',
      load: async () => (await import('./workers/resume.ts')).workersResume,
    },
    {
      name: 'stop',
      summary: 'end workers as SIGTERM does: what runs may finish',
      load: async () => (await import('./workers/stop.ts')).workersStop,
    },
    {
      name: 'set',
      summary: 'change the slots, polling, lease, batch or queues of running workers',
      load: async () => (await import('./workers/set.ts')).workersSet,
    },
  ],
};
