import { withClient } from '../lib/client.ts';
import type { StoreAddress } from '../peers/peer.ts';

/**
 * Count the statements of new sessions in this database. False: the server has not loaded pg_stat_statements, or the
 * role may not configure it.
 */
export function trackStatements(address: StoreAddress): Promise<boolean> {
  return withClient(address, async (client) => {
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

/** Count the statements of a tracked database, without heartbeats, while `meanwhile` runs. */
export function countStatements(address: StoreAddress, meanwhile: () => Promise<void>): Promise<number> {
  return withClient(address, async (client) => {
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
