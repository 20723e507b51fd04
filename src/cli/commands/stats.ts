import { parseDuration } from '../../lib/duration.ts';
import { stats as readStats } from '../../queue/inspect/stats.ts';
import { FILTERED, storedFilter } from '../../queue/inspect/task-filter.ts';
import type { CliCommand } from '../run/command.ts';
import { declareFilter, type FilterOptions, filterOf, flagOf } from '../select/task-filter.ts';

/** `taskq stats`: the queue in figures. */
export const stats: CliCommand<FilterOptions & { readonly since: string }> = {
  declare(command) {
    declareFilter(command, FILTERED.stats, OWN)
      .option('--since <duration>', 'count tasks that ended in this period up to now', '24h')
      .addHelpText('after', COLUMNS);
  },
  async run(context, { options }) {
    storedFilter(filterOf(options, OWN), FILTERED.stats, flagOf);
    const sinceMs = parseDuration(options.since, '--since');
    const figures = await readStats(await context.database(), sinceMs);
    const { formatStats } = await import('../present/format-stats.ts');
    await context.output.answer(figures, (screen) => formatStats(figures, sinceMs, screen));
  },
};

const OWN = ['since'] as const;

const COLUMNS = `
Columns:
  LIVE       tasks that have not ended: blocked, pending, leased and running
  DUE        pending tasks whose time has come, and blocked ones whose group has a free slot
             or is paused or held at a dead letter
  OLDEST     how long the first of those has been due
  RETRYING   pending tasks with a failed attempt
  DEAD       dead letters, however old
  COMPLETED  tasks that ended in the period of --since; CANCELLED and EXPIRED likewise
  AVERAGE    mean run time of the tasks that completed in that period
  HANDLED    whether a live worker has a handler for the type
  -          no value: nothing is due, or nothing completed

The rate (n a minute) is the average since the first task that completed in the period started, over at least a minute.
The lines below the tables name what keeps due tasks from starting.`;
