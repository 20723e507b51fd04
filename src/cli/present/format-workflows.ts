import type { WorkflowState } from '../../domain/workflow/state.ts';
import { withCommas } from '../../lib/count.ts';
import type { ListedWorkflow } from '../../queue/inspect/list-workflows.ts';
import type { Paint, Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of workflows; empty when there are none. */
export function formatWorkflows(workflows: readonly ListedWorkflow[], screen: Screen): string {
  if (workflows.length === 0) return '';
  const count = (of: (workflow: ListedWorkflow) => number) => (workflow: ListedWorkflow) =>
    withCommas(of(workflow));
  return formatTable<ListedWorkflow>(
    [
      { title: 'ID', cell: ({ id }) => id, align: 'right' },
      { title: 'NAME', cell: ({ name }) => name, shrinksTo: 10 },
      {
        title: 'STATE',
        cell: ({ state }) => state,
        paint: (text, { state }) => paintState(state, text, screen.paint),
      },
      { title: 'LIVE', leaves: 4, cell: count(({ live_steps }) => live_steps), align: 'right' },
      { title: 'WAITING', leaves: 2, cell: count(({ waiting_steps }) => waiting_steps), align: 'right' },
      { title: 'DEATHS', leaves: 3, cell: count(({ deaths }) => deaths), align: 'right' },
      { title: 'CREATED', leaves: 1, cell: ({ created_at }) => relativeTime(created_at, screen.now) },
      { title: 'ENDED', leaves: 0, cell: ({ ended_at }) => relativeTime(ended_at, screen.now) || '-' },
    ],
    workflows,
    screen,
  );
}

export function paintState(state: WorkflowState, text: string, paint: Paint): string {
  switch (state) {
    case 'completed':
      return paint.green(text);
    case 'failed':
      return paint.red(text);
    case 'stuck':
    case 'cancelled':
      return paint.yellow(text);
    case 'running':
    case 'open':
      return paint.cyan(text);
    default:
      return state satisfies never;
  }
}
