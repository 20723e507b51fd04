import type { Callback } from '../../domain/callback.ts';
import { countOf, withCommas } from '../../lib/count.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { wrapText } from '../../lib/wrap.ts';
import type { ShownStep, ShownWorkflow } from '../../queue/inspect/show-workflow.ts';
import type { Paint, Screen } from '../run/output.ts';
import { paintStatus } from './format-task-list.ts';
import { paintState } from './format-workflows.ts';
import { printable } from './printable.ts';
import { formatTable } from './table.ts';
import { localTime, relativeTime, roughly } from './times.ts';
import { type TreeLine, workflowTree } from './workflow-tree.ts';

/** Format a workflow for people: a record, and its steps as a tree. */
export function formatWorkflow(workflow: ShownWorkflow, screen: Screen): string {
  const { paint, columns } = screen;
  const { id, name, state, steps } = workflow;
  const facts = factsOf(workflow, screen.now).filter(([, text]) => text !== '');
  const width = Math.max(...facts.map(([label]) => label.length));
  const record = [
    `${paint.bold(`workflow ${id}`)}  ${printable(name)}  ${paintState(state, state, paint)}`,
    ...facts.map(([label, text]) => `  ${paint.dim(label.padEnd(width))}  ${text}`),
  ].join('\n');
  const head = columns === null ? record : wrapText(record, columns, 4);
  return steps.length === 0 ? head : `${head}\n\n${formatTree(steps, screen)}`;
}

function factsOf(workflow: ShownWorkflow, now: number): [label: string, text: string][] {
  const at = (time: string | null) =>
    time === null ? '' : `${localTime(time)} (${relativeTime(time, now)})`;
  const { created_at, ended_at, is_open, fail_fast, max_dead, cancel_reason } = workflow;
  const why = cancel_reason === null ? '' : `: ${printable(cancel_reason)}`;
  const took = ended_at === null ? '' : `, after ${roughly(Date.parse(ended_at) - Date.parse(created_at))}`;
  return [
    ['created', `${at(created_at)} by ${printable(workflow.created_by)}`],
    ['ended', ended_at === null ? '' : `${at(ended_at)}${took}`],
    ['steps', countsOf(workflow.steps)],
    ['open', is_open ? `steps can be added until taskq workflow close ${workflow.id}` : ''],
    ['stuck', workflow.state === 'stuck' ? stuckText(workflow) : ''],
    ['failing', workflow.failing_at === null ? '' : at(workflow.failing_at)],
    ['fails', failsText(fail_fast, max_dead)],
    [
      'cancel asked',
      workflow.cancel_requested_at === null ? '' : `${at(workflow.cancel_requested_at)}${why}`,
    ],
    ['on end', callbackText(workflow.on_end)],
    ['on failing', callbackText(workflow.on_failing)],
    ['on step', callbackText(workflow.on_step)],
    ['kept', keptText(workflow)],
  ];
}

function keptText({ drop_on, steps }: ShownWorkflow): string {
  if (drop_on === null) return '';
  const hasDead = steps.some(({ status }) => status === 'dead');
  return `until ${drop_on}${hasDead ? ', and as long as it has a dead letter' : ''}`;
}

/** `12: 7 completed, 1 running`, in the order of a step's life. */
function countsOf(steps: readonly ShownStep[]): string {
  const counts: Record<string, number> = {};
  for (const { status } of steps) counts[status] = (counts[status] ?? 0) + 1;
  return steps.length === 0 ? 'none' : `${withCommas(steps.length)}: ${statusesText(counts)}`;
}

/** `3 steps: 2 completed, 1 dead` */
export function countsText(counts: Readonly<Record<string, number>>): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return all === 0 ? 'no steps' : `${countOf(all, 'step')}: ${statusesText(counts)}`;
}

function statusesText(counts: Readonly<Record<string, number>>): string {
  return ORDER.filter((status) => counts[status] !== undefined)
    .map((status) => `${withCommas(counts[status]!)} ${status}`)
    .join(', ');
}

const ORDER = [
  'completed',
  'running',
  'leased',
  'pending',
  'blocked',
  'dead',
  'cancelled',
  'expired',
  'gone',
];

function stuckText({ id, steps }: ShownWorkflow): string {
  if (!steps.some(({ waits }) => waits))
    return `its task of onStep, which adds steps and closes it, will not run again: taskq workflow retry ${id}`;
  const byName = new Map(steps.map((step) => [step.step, step]));
  const deaths = steps
    .filter(({ waits }) => waits)
    .flatMap(({ parents }) => parents.filter(({ is_met }) => !is_met).map(({ step }) => byName.get(step)))
    .filter((parent) => parent !== undefined && isDeath(parent.status))
    .map((parent) => printable(`${parent!.step} (${parent!.status}, task ${parent!.task_id})`));
  if (deaths.length === 0) return 'what it waited for has been revived: it goes on with a worker';
  return `what is left waits for ${listed([...new Set(deaths)])}: taskq workflow retry ${id}`;
}

function isDeath(status: string | undefined): boolean {
  return status === 'dead' || status === 'cancelled' || status === 'expired';
}

function failsText(failFast: boolean, maxDead: number | null): string {
  const after =
    maxDead === null || maxDead === 0 ? 'the first death' : `more than ${countOf(maxDead, 'death')}`;
  if (failFast) return `after ${after}, and cancels what is left`;
  return maxDead === null ? '' : `after ${after}`;
}

/** `report in queue mail, with {"to": 1}` */
export function callbackText(callback: Callback | null): string {
  if (callback === null) return '';
  const { type, queue, payload } = callback;
  const where = queue === undefined ? '' : ` in queue ${queue}`;
  return printable(`${type}${where}${payload === undefined ? '' : `, with ${stringifyExact(payload)}`}`);
}

function formatTree(steps: readonly ShownStep[], screen: Screen): string {
  const statuses = new Map(steps.map(({ step, status }) => [step, status]));
  const of = (text: (step: ShownStep) => string) => (line: TreeLine) =>
    line.kind === 'step' ? text(line.step) : '';
  return formatTable<TreeLine>(
    [
      { title: 'STEP', cell: (line) => line.lead + nameOf(line), shrinksTo: 24 },
      { title: 'TASK', leaves: 2, align: 'right', cell: of(({ task_id }) => task_id) },
      { title: 'TYPE', leaves: 1, cell: of(({ type }) => type), shrinksTo: 8 },
      {
        title: 'STATUS',
        cell: (line) => (line.kind === 'step' ? line.step.status : (line.like?.status ?? '')),
        paint: (text, line) => paintLine(text, line, screen.paint),
      },
      { title: 'FAILED', leaves: 4, align: 'right', cell: of(({ attempts }) => String(attempts)) },
      { title: 'TOOK', leaves: 3, align: 'right', cell: of((step) => tookOf(step, screen.now)) },
      { title: 'NOTE', cell: of((step) => noteOf(step, statuses, screen.now)), shrinksTo: 16 },
    ],
    workflowTree(steps),
    screen,
  );
}

function nameOf(line: TreeLine): string {
  if (line.kind === 'step') return line.step.step;
  const { count, how, below } = line;
  const under = below === 0 ? '' : `, with ${withCommas(below)} below them`;
  switch (how) {
    case 'beside':
      return `… ${withCommas(count)} more${under}`;
    case 'in a row':
      return `… ${withCommas(count)} more in a row`;
    case 'below':
      return `… ${withCommas(count)} more below`;
    default:
      return how satisfies never;
  }
}

function paintLine(text: string, line: TreeLine, paint: Paint): string {
  const status = line.kind === 'step' ? line.step.status : line.like?.status;
  return status === undefined ? text : paintStatus(status, text, paint);
}

/** How long its last attempt took, or has taken so far. */
function tookOf({ status, started_at, ended_at }: ShownStep, now: number): string {
  if (started_at === null) return '-';
  if (ended_at !== null) return roughly(Math.max(0, Date.parse(ended_at) - Date.parse(started_at)));
  return status === 'running' ? roughly(Math.max(0, now - Date.parse(started_at))) : '-';
}

/** Why it waits, or why it died; and its other parents, under which the tree does not show it. */
function noteOf(step: ShownStep, statuses: ReadonlyMap<string, string>, now: number): string {
  if (step.waits) return waitsText(step, statuses);
  const others = step.parents.slice(1).map((parent) => parent.step);
  return [stateNote(step, now), others.length === 0 ? '' : `also after ${listed(others)}`]
    .filter((text) => text !== '')
    .join('; ');
}

function stateNote({ status, due_at, reason, cancelled_by, parents }: ShownStep, now: number): string {
  if (cancelled_by !== null)
    return `cancelled with ${cancelled_by === parents[0]?.step ? 'its parent' : cancelled_by}`;
  if (reason !== null) return reason;
  if (status === 'blocked') return 'waits for its time, or for a slot of its group';
  if (due_at !== null) return Date.parse(due_at) <= now ? 'due' : `due ${relativeTime(due_at, now)}`;
  return status === 'gone' ? 'its task was deleted' : '';
}

/** A step that waits for no parent waits for its time. */
function waitsText({ parents }: ShownStep, statuses: ReadonlyMap<string, string>): string {
  const unmet = parents
    .filter((parent) => !parent.is_met)
    .map(({ step }) => ({ step, status: statuses.get(step) ?? 'gone' }));
  if (unmet.length === 0) return 'a worker releases it next';
  // The tree shows it below its first parent.
  if (unmet.length === 1 && unmet[0]!.step === parents[0]!.step) return 'waits for its parent';
  // The ends of others are counted by the next claim.
  const wanted = unmet.toSorted(
    (a, b) => Number(a.status === 'completed') - Number(b.status === 'completed'),
  );
  return `waits for ${listed(wanted.map(({ step, status }) => `${step} (${status})`))}`;
}

/** `a, b, c and 7 more` */
function listed(names: readonly string[]): string {
  if (names.length <= MOST_NAMED + 1) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${withCommas(names.length - MOST_NAMED)} more`;
}

const MOST_NAMED = 3;
