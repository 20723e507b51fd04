import { setTimeout as sleep } from 'node:timers/promises';
import { isPassing } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { type Followed, type FollowedError, followTask } from '../../queue/inspect/follow-task.ts';
import { askEnds, type EndRow, getEnds } from '../../queue/protocol/get-ends.ts';
import { attemptTitle } from '../present/format-task.ts';
import { logLine } from '../present/log-line.ts';
import { printable } from '../present/printable.ts';
import { progressText } from '../present/progress-text.ts';
import { localTime } from '../present/times.ts';
import type { Context } from '../run/context.ts';

const POLL_MS = 500;
/** Report an error once the database has not answered for this long. */
const OUTAGE_MS = 60_000;

/**
 * Print what a task reports until it has ended: lines of its log, errors and its progress on stdout, its status on
 * stderr; with --json an object a line. Returns how it ended; undefined: there is no such task.
 */
export async function followToEnd(context: Context, id: string): Promise<EndRow | undefined> {
  const db = await context.database();
  let before: Followed | undefined;
  let answeredAt = performance.now();
  for (;;) {
    try {
      // Its end stays known for an hour, whatever its retention.
      if (before === undefined) await askEnds(db, [id]);
      const now = await followTask(db, id, before?.since ?? null);
      answeredAt = performance.now();
      if (now === undefined && before === undefined) return undefined;
      if (now === undefined)
        throw new TaskqError('no_such_task', `task ${id} has ended, and its retention kept no record of it`);
      print(context, id, now, before);
      if (ENDED.includes(now.status)) return (await getEnds(db, [id]))[0];
      before = now;
    } catch (error) {
      if (!isPassing(error) || performance.now() - answeredAt > OUTAGE_MS) throw error;
    }
    await sleep(POLL_MS);
  }
}

const WAITS = ['pending', 'blocked'];

const ENDED = ['completed', 'cancelled', 'expired', 'dead'];

function print({ output }: Context, id: string, now: Followed, before: Followed | undefined): void {
  const write = (event: string, document: object, text: () => string) =>
    output.data(output.format === 'json' ? stringifyExact({ event, id, ...document }) : text());
  const { status, progress } = now;
  const isNew = status !== before?.status;
  const writeStatus = () => {
    if (output.format === 'json') write('status', { status }, () => '');
    else if (!ENDED.includes(status))
      output.talk(`task ${id} is ${status}${WAITS.includes(status) ? `: see taskq explain ${id}` : ''}`);
  };
  // It logs only while it runs; every other status comes after its last lines.
  if (isNew && status === 'running') writeStatus();
  const reports = [
    ...now.lines.map((line) => ({ at: line.at, write: () => write('line', line, () => logLine(line)) })),
    ...now.errors.map((error) => ({
      at: error.failed_at,
      write: () => write('error', error, () => errorLine(error)),
    })),
  ];
  if (progress !== null && stringifyExact(progress) !== stringifyExact(before?.progress ?? null)) {
    const at = String((Object(progress) as { readonly at?: unknown }).at ?? '');
    const text = () => [at === '' ? '' : localTime(at), progressText(progress)].filter(Boolean).join('  ');
    reports.push({ at, write: () => write('progress', { progress }, text) });
  }
  for (const report of reports.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))) report.write();
  if (isNew && status !== 'running') writeStatus();
}

function errorLine(failed: FollowedError): string {
  const { failed_at, retry_at, error } = failed;
  const what = error === null ? '' : ` (${String(error.name)}: ${String(error.message)})`;
  const next = retry_at === null ? '' : `, due again at ${localTime(retry_at)}`;
  return printable(`${localTime(failed_at)}  ${attemptTitle(failed)}${what}${next}`);
}
