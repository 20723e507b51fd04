import { beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/lib/database.ts';
import { findDueVacuum, vacuum } from '../../src/queue/protocol/vacuum.ts';
import { enqueueSome } from './rows.ts';
import { type Session, useDatabase } from './session.ts';

const queue = useDatabase();

/** What this session has done is counted at once, and not within a second. */
const COUNT_NOW = 'select pg_stat_force_next_flush()';

beforeEach(async () => {
  // Nobody else is to vacuum.
  await queue.admin.rows('alter table taskq.tasks set (autovacuum_enabled = false)');
  await queue.admin.rows('vacuum taskq.tasks');
});

function findDue({ afterMs = 0, session = queue.admin }: { afterMs?: number; session?: Session } = {}) {
  return findDueVacuum(session, { deadRows: 1000, afterMs });
}

async function isDue(how?: Parameters<typeof findDue>[0]): Promise<boolean> {
  return (await findDue(how)) !== undefined;
}

async function vacuumNow(): Promise<void> {
  await vacuum(queue.admin, (await findDue())!);
}

/** Vacuums until it is no longer due: a server that analyzes a table meanwhile keeps dead rows for as long as that takes. */
async function vacuumWithEffect(): Promise<void> {
  for (let due = await findDue(); due; due = await findDue()) await vacuum(queue.admin, due);
}

async function leaveDeadRows(count: number): Promise<void> {
  await enqueueSome(queue.admin, count);
  await queue.admin.rows('delete from taskq.tasks');
  await queue.admin.rows(COUNT_NOW);
}

test('a vacuum is due above a number of dead rows, and no longer after it ran', async () => {
  await leaveDeadRows(900);
  expect(await isDue()).toBe(false);
  await leaveDeadRows(200);
  expect(await isDue()).toBe(true);
  await vacuumWithEffect();
  expect(await isDue()).toBe(false);
});

test('it is not due again before the time is over', async () => {
  await leaveDeadRows(1100);
  expect(await isDue({ afterMs: 3_600_000 })).toBe(false);
  expect(await isDue()).toBe(true);
});

test('while an old snapshot is open it stays due: the vacuum was in vain', async () => {
  const other = await queue.directSession();
  await other.rows('begin isolation level repeatable read');
  await other.rows('select from taskq.tasks');
  await leaveDeadRows(1100);
  await vacuumNow();
  expect(await isDue()).toBe(true);
  await other.rows('commit');
  await vacuumWithEffect();
  expect(await isDue()).toBe(false);
});

test('a large table is left to autovacuum', async () => {
  await leaveDeadRows(1100);
  await queue.admin.rows(`insert into taskq.tasks (type, available_at, not_before, created_at)
    select 'work', now(), now(), now() from generate_series(1, 100000)`);
  await queue.admin.rows(COUNT_NOW);
  expect(await isDue()).toBe(false);
});

test('nor is it for who may not vacuum', async () => {
  await leaveDeadRows(1100);
  const role = `worker_of_${process.pid}`;
  const other = await queue.directSession();
  const dueFor = async (session: Session) => {
    await session.rows(`set session authorization ${role}`);
    const answer = await findDue({ session });
    await session.rows('reset session authorization');
    return answer;
  };
  try {
    await other.rows(`create role ${role}`);
    await other.rows(`grant usage on schema taskq to ${role}`);
    await other.rows(`grant execute on all functions in schema taskq to ${role}`);
    expect(await dueFor(other)).toBeNull();
    const version = await other.value<string>("select current_setting('server_version_num')");
    const gift =
      Number(version) >= 170_000
        ? `grant maintain on taskq.tasks to ${role}`
        : `grant ${await other.value('select quote_ident(current_user)')} to ${role}`;
    await other.rows(gift);
    expect(await dueFor(other)).toMatch(/^vacuum /);
  } finally {
    await other.rows(`drop owned by ${role}`);
    await other.rows(`drop role ${role}`);
  }
});

test('a long vacuum is not waited for; it continues in the server, and runs only once', async () => {
  const name = await queue.admin.value<string>('select quote_ident(current_database())');
  await queue.admin.rows(`alter database ${name} set vacuum_cost_delay = '100ms'`);
  await queue.admin.rows(`alter database ${name} set vacuum_cost_limit = 1`);
  const database = openDatabase({ databaseUrl: queue.directUrl, maxConnections: 1, applicationName: 'slow' });
  const vacuums = () =>
    queue.admin.rows<{ pid: number }>(
      `select pid from pg_stat_progress_vacuum join pg_stat_activity using (pid)
       where pg_stat_progress_vacuum.datname = current_database() and backend_type = 'client backend'`,
    );
  try {
    await leaveDeadRows(3000);
    const due = (await findDue())!;
    await expect(vacuum(database, due)).rejects.toMatchObject({ code: 'deadline_passed' });
    const [first] = await vacuums();
    expect(first).toBeDefined();
    await vacuum(database, due);
    expect(await vacuums()).toEqual([first]);
  } finally {
    await queue.admin.rows(`alter database ${name} reset all`);
    await queue.admin.rows(
      'select pg_terminate_backend(pid) from pg_stat_progress_vacuum where datname = current_database()',
    );
    await database.close();
  }
});
