import { withClient } from '../lib/client.ts';
import type { Place } from '../peers/peer.ts';

/**
 * Have the statements of new sessions in this database counted. False: the server has no pg_stat_statements loaded, or
 * the role may not say so.
 */
export function trackStatements(place: Place): Promise<boolean> {
  return withClient(place, async (client) => {
    try {
      await client.query('create extension pg_stat_statements');
      const { rows } = await client.query<{ name: string }>('select current_database() as name');
      const name = client.escapeIdentifier(rows[0]!.name);
      await client.query(`alter database ${name} set pg_stat_statements.track = 'top'`);
      await client.query('select from pg_stat_statements limit 1');
      return true;
    } catch {
      return false;
    }
  });
}

/** Count the statements of a tracked database besides heartbeats while something goes on. */
export function countStatements(place: Place, meanwhile: () => Promise<void>): Promise<number> {
  return withClient(place, async (client) => {
    await client.query("set pg_stat_statements.track = 'none'");
    const count = async () => {
      const { rows } = await client.query<{ calls: string }>(
        `select coalesce(sum(calls), 0) as calls from pg_stat_statements
         where dbid = (select oid from pg_database where datname = current_database())
           and query not like '%taskq.heartbeat%'`,
      );
      return Number(rows[0]!.calls);
    };
    const before = await count();
    await meanwhile();
    return (await count()) - before;
  });
}
