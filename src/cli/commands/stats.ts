import { parseDuration } from '../../lib/duration.ts';
import { stats as readStats } from '../../queue/stats.ts';
import type { CliCommand } from '../command.ts';

/** `taskq stats`: the queue in figures. */
export const stats: CliCommand<{ readonly since: string }> = {
  declare(command) {
    command.option('--since <duration>', 'count what ended within this time', '24h');
  },
  async run(context, { options }) {
    const sinceMs = parseDuration(options.since, '--since');
    const figures = await readStats(await context.database(), sinceMs);
    const { formatStats } = await import('../format-stats.ts');
    await context.output.answer(figures, (screen) => formatStats(figures, sinceMs, screen));
  },
};
