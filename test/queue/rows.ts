import { onTestFinished } from 'vitest';
import type { Session } from './session.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Enqueues one task of type `work` and returns its id. */
export async function enqueue(
  session: Session,
  options: object = {},
  payload: unknown = {},
): Promise<string> {
  return session.value('select id from taskq.enqueue($1, $2, $3)', 'work', JSON.stringify(payload), options);
}

/** Enqueues this many alike and returns their ids, lowest first. */
export async function enqueueSome(session: Session, count: number, options: object = {}): Promise<string[]> {
  const tasks = JSON.stringify(Array.from({ length: count }, (_, n) => ({ type: 'work', payload: { n } })));
  const rows = await session.rows<{ id: string }>(
    'select id from taskq.enqueue_many($1, $2) order by place',
    tasks,
    options,
  );
  return rows.map((row) => row.id);
}

export function liveRow(session: Session, id: string): Promise<Row | undefined> {
  return session.row('select * from taskq.tasks where id = $1', id);
}

export function finishedRow(session: Session, id: string): Promise<Row | undefined> {
  return session.row('select * from taskq.finished_tasks where id = $1', id);
}

export function deadRow(session: Session, id: string): Promise<Row | undefined> {
  return session.row('select * from taskq.dead_tasks where id = $1', id);
}

/** Its one status, wherever the row is; undefined: nowhere. */
export async function statusOf(session: Session, id: string): Promise<string | undefined> {
  const rows = await session.rows<{ status: string }>(
    'select status::text from taskq.all_tasks where id = $1',
    id,
  );
  if (rows.length > 1) throw new Error(`task ${id} is in ${rows.length} places`);
  return rows[0]?.status;
}

/** Lets leases have run out this many milliseconds ago. */
export async function lapse(session: Session, ids: readonly string[], agoMs = 1): Promise<void> {
  await session.rows(
    "update taskq.tasks set lease_expires_at = clock_timestamp() - $2 * interval '1 millisecond' where id = any ($1)",
    ids,
    agoMs,
  );
}

/** Makes waiting tasks due. */
export async function makeDue(session: Session, ids: readonly string[]): Promise<void> {
  await session.rows('update taskq.tasks set available_at = clock_timestamp() where id = any ($1)', ids);
}

/** Lets a worker's last heartbeat be this many milliseconds ago. */
export async function silence(session: Session, workerId: number, agoMs: number): Promise<void> {
  await session.rows(
    "update taskq.workers set heartbeat_at = clock_timestamp() - $2 * interval '1 millisecond' where id = $1",
    workerId,
    agoMs,
  );
}

export interface Rescued {
  readonly id: string;
  readonly status: string;
  readonly available_at_us: string;
}

/** All workers, each watched for long enough at the heartbeat that it is at. */
export function watchedWorkers(session: Session): Promise<Readonly<Record<string, number>>> {
  return session.value(
    `select coalesce(jsonb_object_agg(id, (extract(epoch from heartbeat_at) * 1000000)::bigint), '{}')
     from taskq.workers`,
  );
}

/**
 * Scans the whole live table once, for a worker (null: for nobody) that knows of these tasks, and has watched for long
 * enough whoever is silent.
 */
export async function rescueAll(
  session: Session,
  worker: number | null = null,
  held: readonly string[] = [],
): Promise<Rescued[]> {
  const scan = 'select * from taskq.rescue(0, 1000000, $1, $2, $3) order by id';
  return session.rows(scan, worker, held, { watched: await watchedWorkers(session) });
}

/** Puts a trigger on a table of history, as an application may, that refuses this task until the test ends. */
export async function refuseTask(
  session: Session,
  table: 'dead_tasks' | 'finished_tasks',
  id: string,
): Promise<void> {
  await session.rows(`create function public.refuse() returns trigger language plpgsql as $$
    begin
      if new.id = ${id} then raise exception 'not allowed by the application'; end if;
      return new;
    end
  $$`);
  await session.rows(
    `create trigger refuse before insert on taskq.${table} for each row execute function public.refuse()`,
  );
  onTestFinished(() => session.rows('drop function public.refuse cascade').then(() => {}));
}

/**
 * Puts a trigger on a table, as an application may, that refuses changes of some rows until the test ends.
 * `create` says when: `create trigger` at once, `create constraint trigger` at the commit.
 */
export async function refuseChanges(
  session: Session,
  create: 'create trigger' | 'create constraint trigger',
  when: string,
  table: 'tasks' | 'dead_tasks' = 'tasks',
): Promise<void> {
  await session.rows(`create function public.refuse() returns trigger language plpgsql as $$
    begin
      if ${when} then raise exception 'not allowed by the application'; end if;
      return new;
    end
  $$`);
  await session.rows(
    `${create} refuse after update or delete on taskq.${table}
     ${create === 'create trigger' ? '' : 'deferrable initially deferred'}
     for each row execute function public.refuse()`,
  );
  onTestFinished(() => session.rows('drop function public.refuse cascade').then(() => {}));
}
