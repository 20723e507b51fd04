import { setTimeout as sleep } from 'node:timers/promises';
import { connectClient } from '../../lib/connect.ts';

/** A session that holds a lock that another session waits for. */
export interface Blocker {
  readonly pid: number;
  readonly application: string;
  readonly role: string;
  /** When its transaction began, in ISO 8601; null where we may not see it. */
  readonly since: string | null;
}

/** Watches, over its own connection, the sessions that block another one. */
export interface BlockerWatch {
  /** The blockers last seen; empty where the session has not waited yet. */
  readonly last: readonly Blocker[];
  close(): Promise<void>;
}

const LOOK_MS = 20;

/** Watch which sessions block the session `pid`, and call back whenever they change. */
export async function watchBlockers(
  databaseUrl: string,
  pid: number,
  onChange: (by: readonly Blocker[]) => void,
): Promise<BlockerWatch> {
  const client = await connectClient({ connectionString: databaseUrl });
  const closed = new AbortController();
  let last: readonly Blocker[] = [];
  const look = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      const { rows } = await client.query<Blocker>(BLOCKERS, [pid]);
      if (rows.length > 0 && pidsOf(rows) !== pidsOf(last)) {
        last = rows;
        onChange(rows);
      }
      await sleep(LOOK_MS);
    }
  };
  // The blockers are information only: a failure to read them must not fail the migration.
  const looking = look().catch(() => {});
  return {
    get last() {
      return last;
    },
    async close() {
      closed.abort();
      await looking;
      await client.end();
    },
  };
}

/** A prepared transaction has no session: its pid is 0. */
const BLOCKERS = `
  select b.pid, coalesce(a.application_name, '') as application, coalesce(a.usename, '') as role,
    to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
  from unnest(pg_catalog.pg_blocking_pids($1)) as b (pid)
  left join pg_catalog.pg_stat_activity a on a.pid = b.pid
  order by a.xact_start, b.pid`;

function pidsOf(blockers: readonly Blocker[]): string {
  return blockers.map(({ pid }) => pid).join();
}

/** Describe the blockers: `session 4711 (psql of shop, in a transaction since 2026-11-22T13:04:05Z)`. */
export function describeBlockers(blockers: readonly Blocker[]): string {
  if (blockers.length === 0) return 'other transactions';
  return blockers.map(describeBlocker).join(' and ');
}

function describeBlocker({ pid, application, role, since }: Blocker): string {
  if (pid === 0) return 'a prepared transaction (select * from pg_prepared_xacts)';
  const who = `${application || 'without a name'} of ${role}`;
  return `session ${pid} (${who}${since === null ? '' : `, in a transaction since ${since}`})`;
}
