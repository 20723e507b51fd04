import { checkedName } from '../../domain/names.ts';
import { badOption } from '../../lib/bad-option.ts';
import type { Queryable } from '../../lib/database.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { instantOf } from '../../queue/inspect/instant.ts';
import { type AuditFilter, type AuditRow, listAudit } from '../../queue/inspect/list-audit.ts';
import { formatAudit } from '../present/format-audit.ts';
import { printable } from '../present/printable.ts';
import type { CliCommand } from '../run/command.ts';
import { parseId, parseLimit } from '../select/task-filter.ts';

interface AuditOptions {
  readonly since?: string;
  readonly before?: string;
  readonly who?: string;
  readonly verb?: string;
  readonly via?: string;
  readonly task?: string;
  readonly queue?: string;
  readonly type?: string;
  readonly limit: string;
  readonly after?: string;
}

/** `taskq audit`: a page of what people did. */
export const audit: CliCommand<AuditOptions> = {
  declare(command) {
    command
      .option('--since <time>', 'only since then: a time, or a duration back from now')
      .option('--before <time>', 'only before then')
      .option('--who <name>', 'only by this role or name; ann also finds ann@laptop')
      .option('--verb <verb>', 'only this verb, such as revive or "set schedule"')
      .option('--via <application>', 'only from sessions with this application_name')
      .option('--task <id>', 'only what was done to this task')
      .option('--queue <queue>', 'only what was done to this queue')
      .option('--type <type>', 'only what was done to this type')
      .option('--limit <n>', 'show at most n', '50')
      .option('--after <id>', 'show the page after this action');
  },
  async run(context, { options }) {
    const filter = filterOf(options);
    const limit = parseLimit(options.limit);
    const after = options.after === undefined ? null : checkedActionId(options.after);
    const db = await context.database();
    const { actions, nextAfter } = await listAudit(db, filter, limit, after);
    await context.output.answer({ actions, next_after: nextAfter }, (screen) => formatAudit(actions, screen));
    if (context.output.format === 'json') return;
    if (actions.length === 0) context.output.talk(`no action matches${await nearestVerb(db, filter.verb)}`);
    else if (nextAfter !== null) context.output.talk(`there may be more: --after ${nextAfter}`);
  },
};

function filterOf({ since, before, task, queue, type, ...others }: AuditOptions): AuditFilter {
  const { who, verb, via } = others;
  return {
    ...{ who, verb, via },
    since: since === undefined ? undefined : instantOf(since, '--since'),
    before: before === undefined ? undefined : instantOf(before, '--before'),
    task: task === undefined ? undefined : parseId(task),
    queue: queue === undefined ? undefined : checkedName('queue', queue, '--queue'),
    type: type === undefined ? undefined : checkedName('type', type, '--type'),
  };
}

/** Name the verb that was probably meant, from the last 1000 actions. (No error: SQL may record any verb.) */
async function nearestVerb(db: Queryable, verb: string | undefined): Promise<string> {
  if (verb === undefined) return '';
  const { actions } = await listAudit(db, {}, 1000);
  const known = [...new Set(actions.map((action) => action.verb))];
  return known.includes(verb)
    ? ''
    : printable(`: no ${JSON.stringify(verb)} is recorded${didYouMean(verb, known)}`);
}

function checkedActionId(after: string): AuditRow['id'] {
  if (/^[1-9]\d{0,17}$/.test(after)) return after;
  throw badOption(`--after ${JSON.stringify(after)}: expected the next_after of the previous page`);
}
