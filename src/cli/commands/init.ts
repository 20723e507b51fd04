import { writeFirstFiles } from '../init/first-files.ts';
import { writeSupervisor } from '../init/supervisor.ts';
import type { CliCommand } from '../run/command.ts';

interface InitOptions {
  readonly supervisor?: string;
}

/** `taskq init`: write the first files, or those of a supervised process, where they are missing. */
export const init: CliCommand<InitOptions> = {
  declare(command) {
    command
      .option('--supervisor <name>', 'write a supervised process instead: order-refund, or shop.order-refund')
      .addHelpText(
        'after',
        `
Writes taskq.config.mjs, handlers/hello.mjs and handlers/hello.test.mjs, in TypeScript if the project has a
tsconfig.json. Existing files are not changed.

--supervisor order-refund writes supervisors/order_refund.sql, whose tables and functions are in the schema supervisors
(or the one before the dot); handlers/order_refund.mjs, where you call the provider; and handlers/db_function.mjs, which
runs the supervisor. docs/supervisors.md takes you from there to the end.`,
      );
  },
  async run(context, { options }) {
    const { created, kept, next, demand } = await (options.supervisor === undefined
      ? writeFirstFiles(context)
      : writeSupervisor(context, options.supervisor));
    await context.output.answer({ created, kept, next }, ({ paint }) =>
      [
        ...created.map((path) => `${paint.green('created')} ${path}`),
        ...kept.map((path) => `kept    ${path}`),
        ...(demand === null ? [] : ['', demand]),
        '',
        'next:',
        ...next.map((line) => `  ${line}`),
      ].join('\n'),
    );
  },
};
