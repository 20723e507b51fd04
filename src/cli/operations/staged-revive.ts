import type { Command } from 'commander';
import { checkedPatch, type OperationLimits, storedLimits } from '../../domain/operation.ts';
import { parsePayload } from '../../domain/payload.ts';
import { badOption } from '../../lib/bad-option.ts';
import { showOperation } from '../../queue/inspect/list-operations.ts';
import { isAlive, listWorkers } from '../../queue/inspect/list-workers.ts';
import { type NewOperation, startedId, startOperation } from '../../queue/operate/operations.ts';
import type { ReviveOptions } from '../../queue/operate/revive.ts';
import type { Context } from '../run/context.ts';
import type { Asked } from '../select/bulk.ts';
import { operationFilterOf } from '../select/task-selection.ts';
import { showDryRun } from './dry-run.ts';
import { followOperation } from './follow-operation.ts';

export interface StagedOptions {
  readonly dryRun?: true;
  readonly canary?: string;
  readonly rate?: string;
  readonly stopAt?: string;
  readonly patch?: string;
  readonly expect?: string;
  readonly detach?: true;
}

/** Declare the options that make a revive a stored operation. */
export function declareStaged(command: Command): Command {
  return command
    .option('--canary <n>', 'revive n first; the others when these have ended')
    .option('--rate <n/duration>', 'at most n tasks per duration: 50/1m')
    .option('--stop-at <percent>', 'stop when more of them died again: 20% (with --canary: 0%)')
    .option('--patch <json>', 'a JSON merge patch of each payload: {"currency": "EUR", "note": null}')
    .option('--expect <n>', 'start only if n tasks match')
    .option('--detach', 'start it and do not wait');
}

const FLAGS = {
  dryRun: '--dry-run',
  canary: '--canary',
  rate: '--rate',
  stopAt: '--stop-at',
  patch: '--patch',
  expect: '--expect',
  detach: '--detach',
} as const satisfies Readonly<Record<keyof StagedOptions, string>>;

/** Whether one of these options is given. */
export function isStaged(options: StagedOptions): boolean {
  return (Object.keys(FLAGS) as (keyof StagedOptions)[]).some((name) => options[name] !== undefined);
}

/** Revive the selected letters by an operation, and follow it. Returns the exit code. */
export async function reviveStaged(
  context: Context,
  asked: Asked,
  options: StagedOptions,
  { payload, delayMs, maxAttempts }: ReviveOptions,
): Promise<number | undefined> {
  const { selection, acting, db } = asked;
  if (selection.kind === 'filter' && selection.limit !== undefined)
    throw badOption('--limit: an operation revives all that match; --canary revives some first');
  const expect = options.expect === undefined ? undefined : numberOf(options.expect, '--expect');
  const operation: NewOperation = {
    verb: 'revive',
    filter: operationFilterOf(selection),
    ...{ by: acting.by, reason: acting.reason },
    ...{ expect, payload, delayMs, maxAttempts, dryRun: options.dryRun },
    ...stagedOf(options),
  };
  const started = await startOperation(db, operation);
  if (started.answer === 'dry_run') return showDryRun(context, 'revive', started);
  const id = startedId(started, expect);
  if (options.detach === undefined) return followOperation(context, id);
  await context.output.answer(await showOperation(db, id), () => id);
  if (context.output.format === 'text' && !(await listWorkers(db, {}, 1000)).some(isAlive))
    context.output.talk(`no worker is running: start one, or advance it with taskq operations wait ${id}`);
  return undefined;
}

function stagedOf({ canary, rate, stopAt, patch }: StagedOptions) {
  const limits: OperationLimits = {
    ...(canary !== undefined && { canary: numberOf(canary, FLAGS.canary) }),
    ...(rate !== undefined && { rate }),
    ...(stopAt !== undefined && { stopAt }),
  };
  return {
    ...storedLimits('revive', limits, (name) => FLAGS[name]),
    patch: patch === undefined ? undefined : parsePayload('the patch', checkedPatch(patch, FLAGS.patch)).text,
  };
}

function numberOf(text: string, what: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badOption(`${what} ${JSON.stringify(text)}: expected a whole number`);
}
