import { badOption } from '../../lib/bad-option.ts';
import type { Queryable } from '../../lib/database.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { shown } from '../../lib/shown.ts';
import type { EventRow } from '../../queue/inspect/read-events.ts';
import { printable } from '../present/printable.ts';
import { localTime } from '../present/times.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';

interface EventsOptions {
  readonly after?: string;
  readonly follow?: true;
}

/** `taskq events`: the ends of tasks. */
export const events: CliCommand<EventsOptions> = {
  suggestions: { after: ['now'] },
  declare(command) {
    command
      .option('--after <position|now>', 'start after this event, or from now; default: the oldest event kept')
      .option('--follow', 'print what ends from now on, too, until stopped')
      .addHelpText(
        'after',
        `
The ends of tasks of queues with taskq queues set --record-events, kept for seven days. With --json each is a line.
Store the position of the last event processed and start after it next time: you then get every event at least once.`,
      );
  },
  async run(context, { options }) {
    const { output } = context;
    const [db, { eventPages }] = await Promise.all([
      context.database(),
      import('../../queue/inspect/event-pages.ts'),
    ]);
    const { after } = options;
    if (after !== undefined && after !== 'now' && !POSITION.test(after))
      throw badOption(
        `--after ${shown(after)}: expected the position of an event (taskq events --json), or now`,
      );
    const follows = options.follow === true;
    if (follows) await noteUnrecorded(context, db);
    const pages = eventPages(db, { after, follows, signal: context.signal });
    let isEmpty = true;
    for await (const page of pages) {
      for (const event of page) {
        isEmpty = false;
        output.data(output.format === 'json' ? stringifyExact(event) : textOf(event));
      }
    }
    if (isEmpty && !follows) await noteUnrecorded(context, db);
  },
};

/** Begins like the position of an event; the database checks the rest. */
const POSITION = /^\d+:/;

/** Explain why there is no event, if no queue records any. */
async function noteUnrecorded({ output }: Context, db: Queryable): Promise<void> {
  if (output.isQuiet) return;
  const { listQueues } = await import('../../queue/inspect/list-queues.ts');
  const queues = await listQueues(db, { countMs: 0 });
  if (queues.some(({ record_events }) => record_events)) return;
  output.talk('no queue records events: see taskq queues set --record-events');
}

function textOf({ at, id, queue, type, status, reason }: EventRow): string {
  return printable(
    [localTime(at), id, queue, type, reason === null ? status : `${status}: ${reason}`].join('  '),
  );
}
