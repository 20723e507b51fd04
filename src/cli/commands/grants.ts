import { badOption } from '../../lib/bad-option.ts';
import type { Wanted } from '../../queue/schema/grant-statements.ts';
import { printable } from '../present/printable.ts';
import type { CliCommand } from '../run/command.ts';
import { collect } from '../select/collect.ts';

interface GrantsOptions {
  readonly producer?: readonly string[];
  readonly worker?: readonly string[];
  readonly reader?: readonly string[];
  readonly operator?: readonly string[];
  readonly functions?: readonly string[];
  /** False: `--no-follow-ups`. */
  readonly followUps: boolean;
  readonly apply?: true;
}

/** `taskq grants`: what roles of the database need, as SQL, or granted. */
export const grants: CliCommand<GrantsOptions> = {
  declare(command) {
    command
      .option('--producer <role>', 'it enqueues tasks, starts workflows, and waits for them', collect)
      .option('--worker <role>', 'it runs taskq work', collect)
      .option('--reader <role>', 'it only reads: list, show, explain, stats and the like', collect)
      .option('--operator <role>', 'it reads and acts: cancel, revive, pause, set and the like', collect)
      .option(
        '--functions <schema.name>',
        'a function of yours that the workers call, or schema.* for all of a schema',
        collect,
      )
      .option('--no-follow-ups', 'the workers may enqueue nothing, and set no schedules')
      .option('--apply', 'grant it now, instead of printing the statements')
      .addHelpText('after', EXPLANATION);
  },
  async run(context, { options }) {
    const wanted = wantedOf(options);
    if (options.apply) {
      const { applyGrants } = await import('../../queue/schema/apply-grants.ts');
      const { describeBlockers } = await import('../../queue/schema/blockers.ts');
      const { directUrl } = await context.databaseToMigrate();
      const { owner, formerOwner, grants, excess } = await applyGrants(directUrl, wanted, (by) =>
        context.output.talk(`waiting for ${describeBlockers(by)}`),
      );
      for (const { role, functions, tables } of excess)
        context.output.talk(
          `role ${printable(role)} may do more than these kinds, by default privileges or grants of others: call ` +
            `${functions} internal functions and use ${tables} tables; revoke all on all functions and tables in ` +
            'schema taskq from it, then repeat this',
        );
      return context.output.answer({ applied: true, owner, former_owner: formerOwner, grants }, () =>
        [
          `the schema taskq belongs to ${owner}${formerOwner === null ? '' : `, and no longer to ${printable(formerOwner)}`}`,
          ...grants.map(
            ({ role, kind, functions }) =>
              `${printable(role)} may call ${functions.length} functions: ${kind}`,
          ),
        ].join('\n'),
      );
    }
    const { grantStatements, grantsOf, OWNER } = await import('../../queue/schema/grant-statements.ts');
    const { readAdditions, readFunctions } = await import('../../queue/schema/schema-release.ts');
    const functions = await readFunctions();
    const sql = [
      'begin;',
      LOCK_TIMEOUT,
      ...grantStatements(wanted, functions, await readAdditions()),
      'commit;',
    ].join('\n');
    const document = { applied: false, owner: OWNER, grants: grantsOf(wanted, functions), sql };
    await context.output.answer(document, () => sql);
  },
};

/** A table that changes its owner is locked: while we wait for a reader, all later statements would wait too. */
const LOCK_TIMEOUT = "set local lock_timeout = '1s';";

const EXPLANATION = `
Prints SQL for psql, or for review: taskq grants --worker shop | psql -v ON_ERROR_STOP=1. Each role gets EXECUTE on the
functions it needs, and nothing on a table; what it has otherwise, it keeps. The functions run as taskq_owner, a role
that cannot log in and owns the schema: it is created, and the schema handed over. To migrate later, be a superuser or a
member of it. A role that may call all functions of its kind gets those that a later release adds.`;

function wantedOf({ functions = [], followUps, ...options }: GrantsOptions): Wanted {
  const roles = (['producer', 'worker', 'reader', 'operator'] as const).flatMap((kind) =>
    (options[kind] ?? []).map((role) => ({ role: checkedRole(kind, role), kind })),
  );
  if (functions.length > 0 && options.worker === undefined)
    throw badOption('--functions: give --worker too', 'they are granted only to the workers');
  return { roles, followUps: followUps ? 'granted' : 'revoked', functions: functions.map(checkedPattern) };
}

/** `public` means every role, even in quotes; `$$` would end a block of the statements. */
function checkedRole(kind: string, role: string): string {
  if (role !== '' && role !== 'public' && !/\0|\$\$/.test(role)) return role;
  throw badOption(`--${kind} ${JSON.stringify(role)}: expected the name of a role`);
}

function checkedPattern(text: string): string {
  const [schema = '', name, ...others] = text.split('.');
  const isPart = (part: string | undefined) => /^[\p{L}\p{N}_-]+$/u.test(part ?? '');
  if (!isPart(schema) || !(name === '*' || isPart(name)) || others.length > 0)
    throw badOption(`--functions ${JSON.stringify(text)}: expected schema.name or schema.*`);
  if (/^(taskq|information_schema|pg_.*)$/.test(schema))
    throw badOption(`--functions ${JSON.stringify(text)}: ${schema} has none of yours`);
  if (schema === 'public' && name === '*')
    throw badOption(
      '--functions "public.*": name them one by one',
      'extensions have theirs there, which all roles call',
    );
  return text;
}
