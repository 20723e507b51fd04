import type { CommandEntry } from './run/command.ts';

/** Every command, in the order of `taskq --help`. */
export const COMMANDS: readonly { readonly heading: string; readonly entries: readonly CommandEntry[] }[] = [
  {
    heading: 'Tasks:',
    entries: [
      {
        name: 'enqueue',
        summary: 'enqueue a task, or one for each line of a file',
        load: async () => (await import('./commands/enqueue.ts')).enqueue,
      },
      {
        name: 'work',
        summary: 'run tasks with the handlers in ./handlers, until stopped',
        load: async () => (await import('./commands/work.ts')).work,
      },
      {
        name: 'list',
        summary: 'list tasks, newest first',
        load: async () => (await import('./commands/list.ts')).list,
      },
      {
        name: 'show',
        summary: 'show a task: payload, timings, lease, result, errors and log',
        load: async () => (await import('./commands/show.ts')).show,
      },
      {
        name: 'explain',
        summary: 'show why a task does not run, or where it is running',
        load: async () => (await import('./commands/explain.ts')).explain,
      },
      {
        name: 'cancel',
        summary: 'cancel waiting and running tasks',
        load: async () => (await import('./commands/cancel.ts')).cancel,
      },
      {
        name: 'retry',
        summary: 'run waiting tasks now',
        load: async () => (await import('./commands/retry.ts')).retry,
      },
      {
        name: 'edit',
        summary: 'change the payload, time, priority or queue of waiting tasks',
        load: async () => (await import('./commands/edit.ts')).edit,
      },
      {
        name: 'rerun',
        summary: 'run finished tasks again, as new tasks',
        load: async () => (await import('./commands/rerun.ts')).rerun,
      },
      {
        name: 'purge',
        summary: 'delete finished tasks permanently',
        load: async () => (await import('./commands/purge.ts')).purge,
      },
      {
        name: 'stats',
        summary: 'count tasks by queue, status and type',
        load: async () => (await import('./commands/stats.ts')).stats,
      },
      {
        name: 'metrics',
        summary: 'show what happened to tasks, by minute or by day',
        load: async () => (await import('./commands/metrics.ts')).metrics,
      },
      {
        name: 'events',
        summary: 'print the ends of tasks as events',
        load: async () => (await import('./commands/events.ts')).events,
      },
      {
        name: 'dead',
        summary: 'list, show, revive and discard dead letters',
        load: async () => (await import('./commands/dead.ts')).dead,
      },
      {
        name: 'operations',
        summary: 'list, show, follow and stop operations on many tasks, which workers run',
        load: async () => (await import('./commands/operations.ts')).operations,
      },
      {
        name: 'audit',
        summary: 'list what people did to tasks, queues, types and workers',
        load: async () => (await import('./commands/audit.ts')).audit,
      },
    ],
  },
  {
    heading: 'Queues and workers:',
    entries: [
      {
        name: 'queues',
        summary: 'list, pause, resume and configure queues',
        load: async () => (await import('./commands/queues.ts')).queues,
      },
      {
        name: 'workers',
        summary: 'list, pause, resume, stop and reconfigure running workers',
        load: async () => (await import('./commands/workers.ts')).workers,
      },
      {
        name: 'types',
        summary: 'list, add, remove, resume and configure task types',
        load: async () => (await import('./commands/types.ts')).types,
      },
      {
        name: 'groups',
        summary: 'list, show, limit, pause and resume groups of a queue',
        load: async () => (await import('./commands/groups.ts')).groups,
      },
      {
        name: 'schedule',
        summary: 'list, add, preview, pause and run schedules: tasks enqueued at set times',
        load: async () => (await import('./commands/schedule.ts')).schedule,
      },
      {
        name: 'workflow',
        summary: 'run, list, show, cancel and retry workflows: tasks that wait for each other',
        load: async () => (await import('./commands/workflow.ts')).workflow,
      },
      {
        name: 'keys',
        summary: 'list, show and release keys held beyond the end of their tasks',
        load: async () => (await import('./commands/keys.ts')).keys,
      },
      {
        name: 'defaults',
        summary: 'show and set the defaults for all tasks',
        load: async () => (await import('./commands/defaults.ts')).defaults,
      },
    ],
  },
  {
    heading: 'Setup:',
    entries: [
      {
        name: 'init',
        summary: 'write a configuration, a first handler and its test',
        load: async () => (await import('./commands/init.ts')).init,
      },
      {
        name: 'migrate',
        summary: 'create the database schema, or upgrade it to this version',
        load: async () => (await import('./commands/migrate.ts')).migrate,
      },
      {
        name: 'grants',
        summary: 'print or grant what roles of the database need to use the queue',
        load: async () => (await import('./commands/grants.ts')).grants,
      },
      {
        name: 'config',
        summary: 'show every setting and where its value comes from',
        load: async () => (await import('./commands/config.ts')).config,
      },
      {
        name: 'db',
        summary: 'start, stop and inspect the local PostgreSQL',
        load: async () => (await import('./commands/db.ts')).db,
      },
      {
        name: 'serve',
        summary: 'serve the web pages and the HTTP API',
        load: async () => (await import('./commands/serve.ts')).serve,
      },
      {
        name: 'tokens',
        summary: 'list, add and revoke tokens for the HTTP API',
        load: async () => (await import('./commands/tokens.ts')).tokens,
      },
      {
        name: 'completion',
        summary: 'print a completion script for your shell',
        load: async () => (await import('./commands/completion.ts')).completion,
      },
    ],
  },
];
