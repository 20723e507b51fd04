import type { CliCommand } from '../run/command.ts';

/** `taskq schedule …`: tasks enqueued at regular times. */
export const schedule: CliCommand = {
  subcommands: [
    {
      name: 'list',
      summary: 'list the schedules, and when they fire next (default)',
      isDefault: true,
      load: async () => (await import('./schedule/list.ts')).scheduleList,
    },
    {
      name: 'show',
      summary: 'show a schedule, its options and its last task',
      load: async () => (await import('./schedule/show.ts')).scheduleShow,
    },
    {
      name: 'add',
      summary: 'add a schedule, or replace it',
      load: async () => (await import('./schedule/add.ts')).scheduleAdd,
    },
    {
      name: 'pause',
      summary: 'fire no more ticks of a schedule, until resumed',
      load: async () => (await import('./schedule/pause.ts')).schedulePause,
    },
    {
      name: 'resume',
      summary: 'resume a paused schedule from its next tick on',
      load: async () => (await import('./schedule/resume.ts')).scheduleResume,
    },
    {
      name: 'remove',
      summary: 'remove a schedule; its tasks stay',
      load: async () => (await import('./schedule/remove.ts')).scheduleRemove,
    },
    {
      name: 'run',
      summary: 'enqueue the task of a schedule now, beside its ticks',
      load: async () => (await import('./schedule/run.ts')).scheduleRun,
    },
    {
      name: 'preview',
      summary: 'print the next ticks of a schedule or an expression',
      load: async () => (await import('./schedule/preview.ts')).schedulePreview,
    },
    {
      name: 'sync',
      summary: 'make the schedules match the configuration',
      load: async () => (await import('./schedule/sync.ts')).scheduleSync,
    },
  ],
};
