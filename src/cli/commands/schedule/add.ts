import type { Command } from 'commander';
import { checkedName } from '../../../domain/names.ts';
import { parsePayload } from '../../../domain/payload.ts';
import { normaliseScheduleOptions } from '../../../domain/schedule/definition.ts';
import { parseExpression } from '../../../domain/schedule/expression.ts';
import { declareTaskOptions, TASK_SUGGESTIONS } from '../../enqueue/declare-task-options.ts';
import { flagOf, flagsOf, type TaskOptions } from '../../enqueue/task-options.ts';
import { printable } from '../../present/printable.ts';
import { localTime, relativeTime } from '../../present/times.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

interface AddOptions extends Omit<TaskOptions, 'at'>, ActingOptions {
  readonly tz?: string;
  readonly missed?: string;
  readonly overlap?: string;
  readonly jitter?: string;
  readonly allowUnknown?: true;
}

/** `taskq schedule add`: add a schedule, or replace it. */
export const scheduleAdd: CliCommand<AddOptions> = {
  suggestions: {
    ...TASK_SUGGESTIONS,
    missed: ['skip', 'latest', 'all', 'all:10'],
    overlap: ['allow', 'skip', 'replace'],
  },
  declare,
  async run(context, { args, options }) {
    const [name, given, type, json = '{}'] = args as [string, string, string, string | undefined];
    checkedName('schedule', name);
    const expression = parseExpression(given);
    checkedName('type', type);
    const { tz, missed, overlap, jitter } = options;
    const stored = normaliseScheduleOptions({ ...flagsOf(options), tz, missed, overlap, jitter }, (option) =>
      flagOf(option),
    );
    const { lookUpAll, typeLookUp } = await import('../../enqueue/known-types.ts');
    const { readStdin } = await import('../../enqueue/read-stdin.ts');
    const { refuseMisfit } = await import('../../../queue/protocol/new-task.ts');
    const { setSchedule } = await import('../../../queue/operate/schedules.ts');
    const payload = parsePayload(type, json === '-' ? await readStdin(context) : json);
    const lookUp = await typeLookUp(context, options.allowUnknown ? 'allowed' : 'refused');
    const { schema } = await lookUp(type);
    await lookUpAll([options.onComplete, options.onDead], lookUp);
    await refuseMisfit(type, schema, payload.value);
    const acting = await actingOf(options);
    const db = await context.database();
    const schedule = { name, expression, type, payload: payload.text, options: stored };
    // The types were checked already, also against the handlers here.
    const { created, nextAt } = await setSchedule(db, schedule, { ...acting, allowUnknown: true });
    await context.output.answer({ name, created, next_at: nextAt }, ({ now }) => {
      const what = `schedule ${printable(name)} is ${created ? 'added' : 'changed'}`;
      if (nextAt === null) return what;
      return `${what}: it fires next at ${localTime(nextAt)} local time (${relativeTime(nextAt, now)})`;
    });
  },
};

function declare(command: Command): void {
  command
    .argument('<name>', 'its name')
    .argument('<expression>', 'cron of 5 or 6 fields, @daily and the like, or @every 90s')
    .argument('<type>', 'type of its tasks')
    .argument('[json]', 'payload of its tasks; - reads it from stdin; default {}')
    .option('--tz <zone>', 'time zone of the expression, such as Europe/Berlin (UTC)')
    .option(
      '--missed <policy>',
      'ticks that no worker could fire: skip them, fire the latest (default), all (up to 100) or all:n',
    )
    .option(
      '--overlap <policy>',
      'while the task of an earlier tick is live: allow another (default), skip the tick, or replace that task',
    )
    .option('--jitter <duration>', 'delay each task by up to this much, always the same for the same tick');
  declareTaskOptions(command);
  declareActing(command.option('--allow-unknown', 'accept a type without a known handler')).addHelpText(
    'after',
    ABOUT,
  );
}

const ABOUT = `
Any running worker fires it; the clock of the database decides when. A schedule of this name is replaced: what is due
stays due, and a pause stays. Its tasks carry the tick: handlers read ctx.tick, programs TASKQ_TICK.

Fields: [second] minute hour day-of-month month day-of-week, each *, a value, a-b, */n, a-b/n, or a list; names such as
JAN and MON-FRI. If both days are given, either is enough. Names: @yearly, @monthly, @weekly, @daily, @hourly.
When clocks skip a local time, it fires once, right after; when they show one twice, it fires the first time, and both
times if the hour has a *.

Examples:
  taskq schedule add nightly '30 2 * * *' report --tz Europe/Berlin --overlap skip
  taskq schedule add poll '@every 90s' sync-orders --missed skip
  taskq schedule preview '0 9 * * MON-FRI' --tz America/New_York`;
