import { checkedName } from '../../domain/names.ts';
import { badOption } from '../../lib/bad-option.ts';
import { parseDuration } from '../../lib/duration.ts';
import { listMetrics } from '../../queue/inspect/list-metrics.ts';
import { formatMetrics } from '../present/format-metrics.ts';
import type { CliCommand } from '../run/command.ts';
import { noteMisspelt } from '../select/misspelt.ts';

interface MetricsOptions {
  readonly days?: true;
  readonly since?: string;
  readonly queue?: string;
  readonly type?: string;
  readonly limit: string;
}

/** `taskq metrics`: what happened to tasks, minute by minute or day by day. */
export const metrics: CliCommand<MetricsOptions> = {
  declare(command) {
    command
      .option('--days', 'by day of UTC, not by minute')
      .option('--since <duration>', 'how far back to look (1h; with --days 30d)')
      .option('--queue <queue>', 'only this queue')
      .option('--type <type>', 'only this type')
      .option('--limit <n>', 'show at most n lines', '100')
      .addHelpText('after', COLUMNS);
  },
  async run(context, { options }) {
    const limit = Number(options.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > 100_000)
      throw badOption(`--limit ${options.limit}: expected a number from 1 to 100000`);
    const db = await context.database();
    const found = await listMetrics(db, {
      span: options.days ? 'day' : 'minute',
      sinceMs: parseDuration(options.since ?? (options.days ? '30d' : '1h'), '--since'),
      queue: options.queue === undefined ? undefined : checkedName('queue', options.queue, '--queue'),
      type: options.type === undefined ? undefined : checkedName('type', options.type, '--type'),
      limit,
    });
    await context.output.answer({ metrics: found }, (screen) => formatMetrics(found, screen));
    if (found.length === 0 && context.output.format === 'text') {
      context.output.talk('nothing has been counted; a worker adds up what happened every 15 s');
      await noteMisspelt(context.output, db, { type: options.type, queue: options.queue });
    }
  },
};

const COLUMNS = `
Columns:
  CREATED    tasks that were enqueued
  COMPLETED  tasks that completed
  FAILED     tasks that became dead letters
  LATENCY    from when an attempt could start to its end, on average
  ERRORS     the share of attempts that failed or lost their worker
  HEARTBEAT  the longest time since the last heartbeat of a live worker, whatever its queues
  -          no attempt ended, or no worker was seen

Workers add up what happened every 15 s. Minutes are kept for 14 days, days for 400.`;
