import { badOption } from '../../../lib/bad-option.ts';
import { listWorkersNow } from '../../../queue/inspect/list-workers.ts';
import type { CliCommand } from '../../run/command.ts';
import { parseLimit } from '../../select/task-filter.ts';

interface ListOptions {
  readonly all?: true;
  readonly limit: string;
  readonly after?: string;
}

const MOST_ID = 2 ** 31 - 1;

/** `taskq workers list`: a page of workers, newest first. */
export const workersList: CliCommand<ListOptions> = {
  declare(command) {
    command
      .option('--all', 'include workers that ended in the last 40 days')
      .option('--limit <n>', 'show at most n', '100')
      .option('--after <id>', 'show the next page: workers that started before this one')
      .addHelpText(
        'after',
        `
Columns:
  RUNS       running tasks, of the number it runs at a time
  AHEAD      tasks it has claimed and not started yet
  POLL       how often it looks for tasks while idle
  HEARTBEAT  when it last renewed its leases

Statuses: live; paused; stopping (finishes its running tasks); stopped; silent (no heartbeat for a whole lease: other
workers take over its tasks); lost (it was silent and did not come back). RUNS and AHEAD are current, or those of
the last heartbeat if the worker receives no notifications.`,
      );
  },
  async run(context, { options }) {
    const limit = parseLimit(options.limit);
    const after = options.after === undefined ? null : parseAfter(options.after);
    const db = await context.database();
    // Fetch one more than the limit, to know whether there is another page.
    const found = await listWorkersNow(db, options.all ? { all: true } : {}, limit + 1, after);
    const workers = found.slice(0, limit);
    const nextAfter = found.length > limit ? workers.at(-1)!.id : null;
    await context.output.answer({ workers, next_after: nextAfter }, async (screen) => {
      const { formatWorkers } = await import('../../present/format-workers.ts');
      return formatWorkers(workers, screen);
    });
    if (context.output.format === 'json') return;
    if (workers.length === 0) context.output.talk('no workers; start one with taskq work');
    else if (nextAfter !== null) context.output.talk(`there are more: --after ${nextAfter}`);
  },
};

function parseAfter(text: string): string {
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= MOST_ID) return text;
  throw badOption(`--after ${JSON.stringify(text)}: expected the number of a worker, such as 1406218731`);
}
