import { expect, test } from 'vitest';
import { failures, useSpecification } from '../use-specification.ts';
import { TABLES } from './tables.ts';

const s1 = useSpecification(import.meta.url, TABLES);

const TYPE = 'vector_store_index_retry';

/** Indexing an entry has failed: whoever notices asks for the one task that makes up for it. */
const indexingFailed = () => s1.enqueue(TYPE, {}, { key: TYPE });

async function addEntries(count: number): Promise<void> {
  await s1.admin.rows(
    "insert into app.entries select n, 'content ' || n from generate_series(1, $1) as n",
    count,
  );
}

async function pendingEntries(): Promise<number[]> {
  const rows = await s1.admin.rows<{ id: number }>(
    'select id from app.entries where indexed_at is null order by id',
  );
  return rows.map((row) => row.id);
}

test('there is one task, however many times indexing fails', async () => {
  const first = await indexingFailed();
  expect(first.created).toBe(true);
  expect(await indexingFailed()).toMatchObject({ id: first.id, created: false });
  await s1.admin.rows("insert into app.vector_store_outages values ('entry 1')");
  await addEntries(1);
  await s1.taskq(['work', '--max-tasks', '1']);
  expect(await indexingFailed()).toMatchObject({ id: first.id, created: false });
  expect(await s1.task(first.id)).toMatchObject({ status: 'pending', attempts: 1 });
});

test('it indexes batch by batch, keeps what succeeded, and is retried while entries are left or failed', async () => {
  await addEntries(15);
  await s1.admin.rows("insert into app.vector_store_outages values ('entry 3')");
  const { id } = await indexingFailed();
  const worker = s1.work(['--until-idle']);

  await failures(worker, 1);
  expect(await pendingEntries()).toEqual([3, 11, 12, 13, 14, 15]);
  await s1.makeDue(id);
  await failures(worker, 2);
  expect(await pendingEntries()).toEqual([3]);
  await s1.admin.rows('delete from app.vector_store_outages');
  await s1.makeDue(id);

  expect(await worker.exit).toMatchObject({ code: 0 });
  expect(await pendingEntries()).toEqual([]);
  expect(await s1.admin.value<string>('select count(*) from app.vector_store_index')).toBe('15');
  expect(await s1.admin.rows('select from taskq.all_tasks')).toEqual([]);
  expect(await indexingFailed()).toMatchObject({ created: true });
});
