import { describe, expect, test } from 'vitest';
import { bulkOf, enqueue, enqueueMany } from '../../src/queue/protocol/enqueue.ts';
import { refusalOf } from '../../src/queue/protocol/refusal.ts';
import { knowTypes } from '../support/know-types.ts';
import { useDatabase } from './session.ts';
import { registerWorker } from './worker.ts';

const queue = useDatabase();

const task = (type: string) => ({ type, payload: '{}' });

describe('an unknown type', () => {
  test('is refused by name with the known ones', async () => {
    await knowTypes(queue.admin.client, 'send-email', 'report');
    await expect(queue.admin.rows("select taskq.enqueue('send-emial')")).rejects.toMatchObject({
      code: '22023',
      constraint: 'the_type_is_known',
      message: 'unknown type "send-emial" (did you mean "send-email"?): no worker has registered it',
      detail: '{"known": ["report", "send-email", "work"], "unknown": ["send-emial"]}',
      hint: expect.stringContaining('allow_unknown'),
    });
  });

  test('is named by the library with the one that is meant, however it is written', async () => {
    await knowTypes(queue.admin.client, 'say "hello", twice');
    for (const [type, ...nearest] of [['say "helo", twice', 'say "hello", twice'], ['wok', 'work'], ['a']]) {
      const refusal = await enqueue(queue.admin, task(type!)).catch((error: unknown) => refusalOf(error, ''));
      expect(refusal).toMatchObject({ code: 'unknown_type', type, nearest });
    }
  });

  test('is compared letter by letter with 20 of 10,000 known types, the meant one among them', async () => {
    await queue.admin.rows(`
      insert into taskq.task_types (name, first_seen_at)
      select 'send-an-email-to-the-customer-of-this-shop-of-number-' || lpad(n::text, 5, '0'), clock_timestamp()
      from generate_series(1, 10000) as n`);
    const meant = 'send-an-email-to-the-customer-of-this-shop-of-number-07777';
    const typed = meant.replace('customer', 'cusotmer');
    const similar = await queue.admin.rows<{ name: string }>(
      'select s.name from taskq.similar_names($1, 3, array(select y.name from taskq.task_types y)) as s',
      typed,
    );
    expect(similar).toHaveLength(20);
    expect(similar[0]!.name).toBe(meant);
    await expect(enqueue(queue.admin, task(typed))).rejects.toThrow(`(did you mean "${meant}"?)`);
    const far = enqueue(queue.admin, task(meant.replace('customer', 'employee')));
    await expect(far).rejects.toThrow(/-07777": no worker/);
  });

  test.each([
    ['send-emial', 'send-email'],
    ['SEND-EMAIL', 'send-email'],
    ['sendemail', 'send-email'],
    ['sen', 'send-email'],
    ['xend-emaii', 'send-email'],
    ['reports', 'report'],
    ['eport', 'report'],
    ['rpt', null],
    ['resize', null],
    ['', null],
  ])('is nearest to %s: %s', async (typed, nearest) => {
    const known = ['send-email', 'report', 'work'];
    expect(await queue.admin.value('select taskq.nearest_name($1, $2)', typed, known)).toBe(nearest);
  });

  test('refuses the whole bulk it is in, however many are good', async () => {
    const tasks = [...Array.from({ length: 500 }, () => task('work')), task('wok'), task('a')];
    await expect(enqueueMany(queue.admin, bulkOf(tasks))).rejects.toThrow(
      'unknown type "a", "wok" (did you mean "work"?): no worker',
    );
    expect(await queue.admin.value('select count(*) from taskq.tasks')).toBe('0');
  });

  test('is taken when the caller says that it need not be known', async () => {
    expect(await enqueue(queue.admin, task('new'), true)).toMatchObject({ created: true });
    expect(await enqueue(queue.admin, task('new'), ['other', 'new'])).toMatchObject({ created: true });
    await expect(enqueue(queue.admin, task('new'), ['other'])).rejects.toThrow('unknown type "new"');
    await expect(enqueueMany(queue.admin, bulkOf([task('new'), task('newer')], ['new']))).rejects.toThrow(
      'unknown type "newer"',
    );
  });

  test('is known from the moment a worker that handles it has registered', async () => {
    await expect(enqueue(queue.admin, task('fresh'))).rejects.toThrow('unknown type "fresh"');
    await registerWorker(queue.admin, { fresh: {} });
    expect(await enqueue(queue.admin, task('fresh'))).toMatchObject({ created: true });
  });

  test('is taken where it becomes known while it is looked up', async () => {
    await queue.admin.client.query(`
      create function public.register() returns trigger language plpgsql as
        $$ begin perform taskq.add_types('{late}'); return null; end $$;
      create trigger register after insert on taskq.tasks for each statement execute function public.register();
    `);
    try {
      const made = await queue.admin.row<{ id: string; created: boolean }>(
        `select id, created from taskq.enqueue('late', '{"n": 1}', '{"priority": 7}')`,
      );
      expect(made!.created).toBe(true);
      const stored = await queue.admin.rows('select id, type, payload, priority from taskq.tasks');
      expect(stored).toEqual([{ id: made!.id, type: 'late', payload: { n: 1 }, priority: 7 }]);
    } finally {
      await queue.admin.client.query('drop trigger register on taskq.tasks; drop function public.register()');
    }
  });

  test('is refused also where its key is held', async () => {
    await enqueue(queue.admin, { type: 'work', payload: '{}', options: { key: 'k' } });
    await expect(
      enqueue(queue.admin, { type: 'stranger', payload: '{}', options: { key: 'k' } }),
    ).rejects.toThrow('unknown type "stranger"');
  });
});
