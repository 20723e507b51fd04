import type { CliCommand } from '../run/command.ts';

/** `taskq workflow …`: tasks that wait for each other. */
export const workflow: CliCommand = {
  subcommands: [
    {
      name: 'run',
      summary: 'start a workflow from a file',
      load: async () => (await import('./workflow/run.ts')).workflowRun,
    },
    {
      name: 'open',
      summary: 'start an open workflow, to which steps can be added',
      load: async () => (await import('./workflow/open.ts')).workflowOpen,
    },
    {
      name: 'close',
      summary: 'close an open workflow: no more steps can be added',
      load: async () => (await import('./workflow/close.ts')).workflowClose,
    },
    {
      name: 'list',
      summary: 'list workflows, newest first (default)',
      isDefault: true,
      load: async () => (await import('./workflow/list.ts')).workflowList,
    },
    {
      name: 'show',
      summary: 'show a workflow and the tree of its steps',
      load: async () => (await import('./workflow/show.ts')).workflowShow,
    },
    {
      name: 'cancel',
      summary: 'cancel all steps of a workflow that have not ended',
      load: async () => (await import('./workflow/cancel.ts')).workflowCancel,
    },
    {
      name: 'retry',
      summary: 'run the dead, cancelled and expired steps of a workflow again',
      load: async () => (await import('./workflow/retry.ts')).workflowRetry,
    },
    {
      name: 'wait',
      summary: 'wait until a workflow has ended',
      load: async () => (await import('./workflow/wait.ts')).workflowWait,
    },
  ],
};
