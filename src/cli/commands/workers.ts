import type { CliCommand } from '../run/command.ts';

/** `taskq workers …`: the processes that run tasks. */
export const workers: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list workers and what they are doing (default)',
      isDefault: true,
      load: async () => (await import('./workers/list.ts')).workersList,
    },
    {
      name: 'pause',
      summary: 'stop workers from claiming tasks, until resumed',
      load: async () => (await import('./workers/pause.ts')).workersPause,
    },
    {
      name: 'resume',
      summary: 'resume paused workers',
      load: async () => (await import('./workers/resume.ts')).workersResume,
    },
    {
      name: 'stop',
      summary: 'stop workers as SIGTERM does: running tasks may finish',
      load: async () => (await import('./workers/stop.ts')).workersStop,
    },
    {
      name: 'set',
      summary: 'change the slots, polling, lease, batch or queues of running workers',
      load: async () => (await import('./workers/set.ts')).workersSet,
    },
  ],
};
