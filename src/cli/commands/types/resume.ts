import { checkedName } from '../../../domain/names.ts';
import { resumeType } from '../../../queue/operate/resume-type.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noteMisspelt } from '../../select/misspelt.ts';

/** `taskq types resume`: close the open breaker of a type. */
export const typesResume: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<type>', 'its name')).addHelpText(
      'after',
      `
Its tasks start again at once, and its failures count anew. taskq types lists open breakers.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('type', args[0]!);
    const acting = await actingOf(options);
    const db = await context.database();
    const resumed = await resumeType(db, name, acting);
    if (!resumed) await noteMisspelt(context.output, db, { type: name });
    await context.output.answer({ name, resumed }, () =>
      resumed ? `${printable(name)} is resumed` : `the breaker of ${printable(name)} is not open`,
    );
  },
};
