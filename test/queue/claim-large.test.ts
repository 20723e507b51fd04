import { describe, expect, test } from 'vitest';
import { listenTo } from './listening.ts';
import { enqueueSome, type Row } from './rows.ts';
import { useDatabase } from './session.ts';
import { byUrgency, registerWorker } from './worker.ts';

const queue = useDatabase();

describe('claims of large payloads', () => {
  /** Enqueues this many of that length, which compress or do not. */
  const enqueueLarge = (count: number, text: string) =>
    queue.admin.rows(
      `select taskq.enqueue('work', to_jsonb(${text})) from generate_series(1, $1) as n`,
      count,
    );
  const random = "(select string_agg(md5(n::text || m::text), '') from generate_series(1, 31250) as m)";

  test('a claim brings no more than 16 MB, the next ones the rest, in their order', async () => {
    await enqueueLarge(20, random);
    const ids = (await queue.admin.rows<{ id: string }>('select id from taskq.tasks order by id')).map(
      ({ id }) => id,
    );
    const worker = await registerWorker(queue.admin);
    const first = await worker.claim({ start: 2, ahead: 1000 });
    expect(first.map(({ id }) => id).sort()).toEqual(ids.slice(0, 16).sort());
    expect(first.filter(({ running }) => running)).toHaveLength(2);
    expect(await worker.claim({ ahead: 1000 })).toHaveLength(4);
  });

  test('those changed by hand count as large, with payload_bytes as it was', async () => {
    await enqueueSome(queue.admin, 20);
    await queue.admin.rows("update taskq.tasks set payload = to_jsonb(repeat('x', 1000000))");
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ start: 500 })).toHaveLength(16);
    expect(await worker.claim({ start: 500 })).toHaveLength(4);
  });

  test.each([
    ['text that compresses', "to_jsonb(repeat('x', 1048577))"],
    [
      'numbers of a few bytes that PostgreSQL writes out',
      "(select jsonb_agg('1e131071'::numeric) from generate_series(1, 12))",
    ],
  ])('%s, made longer than 1 MB by hand, is claimed by nobody', async (_, payload) => {
    const [large, other] = await enqueueSome(queue.admin, 2);
    await queue.admin.rows(`update taskq.tasks set payload = ${payload} where id = $1`, large);
    const worker = await registerWorker(queue.admin);
    const tooLarge = {
      code: '23514',
      message: expect.stringContaining('a_payload_has_at_most_1_mb_of_text'),
    };
    await expect(worker.claim({ start: 500 })).rejects.toMatchObject(tooLarge);
    await expect(
      queue.admin.rows('select taskq.claim_one($1, $2, 30000)', worker.id, large),
    ).rejects.toMatchObject(tooLarge);
    const [claimed, looked] = await queue.admin.rows<Row>(
      `select id, extra from taskq.claim($1, '{default}', '{work}', 500, 0, 30000, null, null, '{"looked": true, "one_by_one": true}')`,
      worker.id,
    );
    expect(claimed).toMatchObject({ id: other });
    expect(looked).toMatchObject({ extra: { refused: [{ id: large, code: '23514' }] } });
  });

  test.each([
    ['text that compresses', "to_jsonb(repeat('x', 1000000))", 16],
    [
      'numbers of a few bytes that PostgreSQL writes out',
      "'[1e131071,1e131071,1e131071,1e131071,1e131071,1e131071,1e131071]'",
      18,
    ],
  ])('%s counts as long as it is', async (_, payload, fit) => {
    await queue.admin.rows(`select taskq.enqueue('work', ${payload}) from generate_series(1, 25)`);
    const bulk = (more = '') =>
      `select jsonb_agg(jsonb_build_object('type', 'work', 'payload', ${payload}::jsonb${more}))
       from generate_series(1, 25) as n`;
    await queue.admin.rows(`select taskq.enqueue_many((${bulk()}))`);
    await queue.admin.rows(`select taskq.enqueue_many((${bulk(", 'key', n::text")}), '{"queue": "keyed"}')`);
    await queue.admin.rows(
      `insert into taskq.tasks (queue, type, payload, available_at, not_before, created_at)
       select 'by hand', 'work', ${payload}, now(), now(), now() from generate_series(1, 25)`,
    );
    const worker = await registerWorker(queue.admin);
    const sizes = [];
    for (const name of ['default', 'default', 'keyed', 'keyed', 'by hand', 'by hand'])
      sizes.push((await worker.claim({ queues: [name], start: 500, ahead: 500 })).length);
    expect(sizes).toEqual([fit, fit, fit, 25 - fit, fit, 25 - fit]);
  });

  test('claims that have passed the rows a claim leaves out are sent back to them', async () => {
    await enqueueLarge(20, random);
    const { received, untilReceived } = await listenTo(queue, 'taskq_wake');
    const worker = await registerWorker(queue.admin);
    const [first, ...others] = (await worker.claim({ ahead: 1000 })).toSorted(byUrgency);
    expect(others).toHaveLength(15);
    await untilReceived();
    const hint = JSON.parse(received[0]!);
    expect(hint.queue).toBe('default');
    const left = await queue.admin.value<string>(
      'select min((extract(epoch from available_at) * 1000000)::bigint) from taskq.tasks where lease_owner is null',
    );
    expect(hint.from_us).toBeLessThanOrEqual(Number(left));
    expect(hint.from_us).toBeGreaterThan(Number(first!.available_at_us) - 1_000_000);
  });
});
