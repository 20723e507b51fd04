import { stringifyExact } from '../../lib/exact-json.ts';
import type { EventRow } from '../../queue/inspect/read-events.ts';
import { printable } from '../present/printable.ts';
import { localTime } from '../present/times.ts';
import type { CliCommand } from '../run/command.ts';

interface EventsOptions {
  readonly after?: string;
  readonly follow?: true;
}

/** `taskq events`: the ends of tasks. */
export const events: CliCommand<EventsOptions> = {
  suggestions: { after: ['now'] },
  declare(command) {
    command
      .option('--after <position|now>', 'go on after this event, or begin now (the first one that is kept)')
      .option('--follow', 'print what ends from now on, too, until stopped')
      .addHelpText(
        'after',
        `
The ends of tasks of queues with taskq queues set --record-events, kept for seven days. With --json each is a line.
Whoever stores the position of the last one processed, and begins after it the next time, gets every end at least once.`,
      );
  },
  async run(context, { options }) {
    const { output } = context;
    const [db, { eventPages }] = await Promise.all([
      context.database(),
      import('../../queue/inspect/event-pages.ts'),
    ]);
    const pages = eventPages(db, {
      after: options.after,
      follows: options.follow === true,
      signal: context.signal,
    });
    for await (const page of pages) {
      for (const event of page) {
        output.data(output.format === 'json' ? stringifyExact(event) : textOf(event));
      }
    }
  },
};

function textOf({ at, id, queue, type, status, reason }: EventRow): string {
  return printable(
    [localTime(at), id, queue, type, reason === null ? status : `${status}: ${reason}`].join('  '),
  );
}
