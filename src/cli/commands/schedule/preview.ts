import { normaliseEnqueueOptions } from '../../../domain/enqueue-options.ts';
import { checkedName } from '../../../domain/names.ts';
import { parseExpression } from '../../../domain/schedule/expression.ts';
import { checkedZone } from '../../../domain/schedule/zone.ts';
import { badOption } from '../../../lib/bad-option.ts';
import type { CliCommand } from '../../run/command.ts';
import type { Context } from '../../run/context.ts';

interface PreviewOptions {
  readonly tz?: string;
  readonly from?: string;
  readonly count: string;
}

const MOST = 1000;

/** `taskq schedule preview`: the next ticks. */
export const schedulePreview: CliCommand<PreviewOptions> = {
  declare(command) {
    command
      .argument('<name|expression>', 'a schedule, or an expression in quotes')
      .option('--tz <zone>', 'time zone; default: that of the schedule, UTC for an expression')
      .option('--from <time>', 'ticks after this time: 2030-01-31T09:00:00+01:00; default: now')
      .option('--count <n>', `how many, up to ${MOST}`, '5')
      .addHelpText(
        'after',
        '\nAn expression needs no database. Times are those of the time zone, with its offset.',
      );
  },
  async run(context, { args, options }) {
    const count = countOf(options.count);
    const fromAt = options.from === undefined ? undefined : instantOf(options.from);
    const tz = options.tz === undefined ? undefined : checkedZone(options.tz, '--tz');
    const found = await scheduleOf(context, args[0]!);
    const zone = tz ?? found.tz;
    const { localText, nextTicks } = await import('../../../domain/schedule/next-ticks.ts');
    const { jitterOf } = await import('../../../domain/schedule/jitter.ts');
    const expression = parseExpression(found.expression);
    const ticks = nextTicks(expression, zone, { from: fromAt ?? Date.now(), count, anchor: found.anchor });
    const answers = ticks.map((tick) => ({
      tick: new Date(tick).toISOString(),
      local: localText(zone, tick),
      due: new Date(
        tick + (found.name === null ? 0 : jitterOf(found.name, tick, found.jitterMs)),
      ).toISOString(),
    }));
    await context.output.answer(
      { name: found.name, expression: expression.text, tz: zone, ticks: answers },
      () => answers.map(({ local }) => local).join('\n'),
    );
  },
};

interface Found {
  /** Null: it is an expression. */
  readonly name: string | null;
  readonly expression: string;
  readonly tz: string;
  readonly jitterMs: number;
  /** A tick of the schedule, from which an interval counts. */
  readonly anchor?: number;
}

async function scheduleOf(context: Context, given: string): Promise<Found> {
  let refusal: unknown;
  try {
    return { name: null, expression: parseExpression(given).text, tz: 'UTC', jitterMs: 0 };
  } catch (error) {
    refusal = error;
  }
  // It looks like an expression, so no schedule of this name is meant.
  if (/^@|^[\d*][\d*/,-]*( \S+){1,6}$/.test(given.trim())) throw refusal;
  const name = checkedName('schedule', given);
  const { listSchedules } = await import('../../../queue/inspect/list-schedules.ts');
  const { noSuchSchedule } = await import('../../select/no-such-schedule.ts');
  const db = await context.database();
  const [schedule] = await listSchedules(db, { name });
  if (schedule === undefined) throw await noSuchSchedule(db, name);
  const { expression, tz, jitter_ms: jitterMs, next_at } = schedule;
  const anchor = next_at === null || next_at === 'infinity' ? undefined : Date.parse(next_at);
  return { name, expression, tz, jitterMs, ...(anchor !== undefined && { anchor }) };
}

function countOf(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MOST) return count;
  throw badOption(`--count ${text}: expected a number from 1 to ${MOST}`);
}

function instantOf(text: string): number {
  return Date.parse(normaliseEnqueueOptions({ at: text }, () => '--from').at!);
}
