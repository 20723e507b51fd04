import { listWorkersNow } from '../../../queue/list-workers.ts';
import type { CliCommand } from '../../command.ts';
import { badOption, parseLimit } from '../../task-filter.ts';

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
      .option('--all', 'those that have ended within 40 days, too')
      .option('--limit <n>', 'at most so many', '100')
      .option('--after <id>', 'only what started before this worker: the next page')
      .addHelpText(
        'after',
        `
RUNS and AHEAD are tasks in slots, and tasks claimed ahead: now, or at the last heartbeat of a worker that does not hear
notifications. silent: no heartbeat for a whole
lease; other workers take over what it holds. lost: it never came back.`,
      );
  },
  async run(context, { options }) {
    const limit = parseLimit(options.limit);
    const after = options.after === undefined ? null : parseAfter(options.after);
    const db = await context.database();
    // One more than asked for says whether there is another page.
    const found = await listWorkersNow(db, options.all ? { all: true } : {}, limit + 1, after);
    const workers = found.slice(0, limit);
    const nextAfter = found.length > limit ? workers.at(-1)!.id : null;
    await context.output.answer({ workers, next_after: nextAfter }, async (screen) => {
      const { formatWorkers } = await import('../../format-workers.ts');
      return formatWorkers(workers, screen);
    });
    if (context.output.format === 'json') return;
    if (workers.length === 0) context.output.talk('no workers: taskq work starts one');
    else if (nextAfter !== null) context.output.talk(`there are more: --after ${nextAfter}`);
  },
};

function parseAfter(text: string): string {
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= MOST_ID) return text;
  throw badOption(`--after ${JSON.stringify(text)}: expected the number of a worker, such as 1406218731`);
}
