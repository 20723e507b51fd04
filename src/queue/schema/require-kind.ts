import type { Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { Kind } from './head-comment.ts';
import { adviseGrants } from './not-granted.ts';

/**
 * Throw `not_granted`, with what to do, unless the role of the connection may call all functions of one of these kinds:
 * by the comments that they have in the database.
 */
export async function requireKind(db: Queryable, kinds: readonly Kind[]): Promise<void> {
  const found = await db.query<{ role: string; lacking: readonly string[] }>({
    text: `select current_user::text as role, array(
        select p.proname::text from pg_proc p
        where p.pronamespace = to_regnamespace('taskq') and not has_function_privilege(p.oid, 'execute')
          and obj_description(p.oid, 'pg_proc') ~ ('(?n)^Granted to: (.*, )?' || k.kind || '[,.]')
        order by 1
      ) as lacking
      from unnest($1::text[]) as k (kind)`,
    values: [kinds],
  });
  const [least] = found.toSorted((one, other) => one.lacking.length - other.lacking.length);
  if (least === undefined || least.lacking.length === 0) return;
  const { role, lacking } = least;
  const more = lacking.length === 1 ? '' : `, and ${lacking.length - 1} functions more`;
  throw new TaskqError('not_granted', `role ${role} may not call taskq.${lacking[0]}${more}`, {
    hint: adviseGrants(kinds, role),
  });
}
