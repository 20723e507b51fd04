import type { MigrationStep } from '../../queue/schema/migrate.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import type { Screen } from '../run/output.ts';
import { collect } from '../select/collect.ts';

interface MigrateOptions {
  readonly status?: true;
  readonly dryRun?: true;
  readonly with?: readonly string[];
}

/** `taskq migrate`: bring the schema up to this binary. */
export const migrate: CliCommand<MigrateOptions> = {
  suggestions: { with: ['queues'] },
  declare(command) {
    command
      .option(
        '--with <addition>',
        'also install this: queues, functions that let any SQL session be a worker; repeatable',
        collect,
      )
      .option('--status', 'show which steps are applied and which are due; change nothing')
      .option('--dry-run', 'print the SQL that would be applied; change nothing')
      .addHelpText(
        'after',
        `
--with queues makes the schema queues (enqueue, dequeue_next_available_task, complete_task, fail_task and four views)
and internal.run_function, for workers that are written in SQL or in another language. Once installed, it is upgraded
with the rest; drop schema queues removes it.`,
      );
  },
  async run(context, { options }) {
    const { migrate: run } = await import('../../queue/schema/migrate.ts');
    const { describeBlockers } = await import('../../queue/schema/blockers.ts');
    const { checkedAdditions } = await import('../../queue/schema/schema-release.ts');
    const additions = checkedAdditions(options.with ?? [], '--with');
    const { directUrl } = await context.databaseToMigrate();
    const mode = options.status ? 'status' : options.dryRun ? 'dry run' : 'apply';
    const { steps, newlyApplied } = await run({
      databaseUrl: directUrl,
      with: additions,
      ...(mode !== 'apply' && { dryRun: true }),
      onBlocked: (by) => context.output.talk(`waiting for ${describeBlockers(by)}`),
    });
    const document = { steps, newly_applied: newlyApplied };
    if (mode === 'dry run' && context.output.format === 'text') return printSql(context, steps);
    await context.output.answer(document, (screen) =>
      WRITERS[mode === 'status' ? 'status' : 'apply'](steps, newlyApplied, screen),
    );
  },
};

/** Print the SQL that is due on stdout; if none is, a line on stderr. */
async function printSql(context: Context, steps: readonly MigrationStep[]): Promise<void> {
  const due = steps.filter(({ applied }) => !applied);
  if (due.length === 0) context.output.talk('nothing to do: the schema is up to date');
  const { sqlOfStep } = await import('../../queue/schema/migration-sql.ts');
  for (const step of due) {
    const sql = await sqlOfStep(step);
    await context.output.answer(null, () => `-- ${nameOf(step)}\n${sql}`);
  }
}

type Writer = (steps: readonly MigrationStep[], newly: readonly MigrationStep[], screen: Screen) => string;

const WRITERS: Record<'status' | 'apply', Writer> = {
  status: (steps, _, { paint }) =>
    steps
      .map((step) => `${step.applied ? paint.green('applied') : paint.yellow('due    ')}  ${nameOf(step)}`)
      .join('\n'),
  apply: (_, newly, { paint }) =>
    newly.map((step) => `${paint.green('applied')} ${nameOf(step)}`).join('\n') ||
    'nothing to do: the schema is up to date',
};

function nameOf({ step, name }: MigrationStep): string {
  return `${step} ${name}`;
}
