import { badOption } from '../../../lib/bad-option.ts';
import { TaskqError } from '../../../lib/errors.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { embeddedOptions } from '../../run/embedded-database.ts';

/** `taskq db logs`: the end of the server's log. */
export const dbLogs: CliCommand<{ readonly lines: string }> = {
  declare(command) {
    command.option('--lines <n>', 'print the last n lines', '50');
  },
  async run(context, { options }) {
    const count = linesOf(options.lines);
    const { layoutOf } = await import('../../../embedded/layout.ts');
    const { readTail } = await import('../../../lib/read-tail.ts');
    const { logFile } = layoutOf(embeddedOptions((await context.config()).values).stateDir);
    const lines = await readTail(logFile, count);
    if (lines === undefined) {
      throw new TaskqError('no_log', `no log ${logFile}: the local PostgreSQL has never been started`, {
        hint: 'run taskq db start',
      });
    }
    await context.output.answer({ log_file: logFile, lines }, () => lines.map(printable).join('\n'));
  },
};

function linesOf(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw badOption(`--lines ${JSON.stringify(text)}: expected a whole number from 1`);
}
