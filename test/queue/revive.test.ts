import { expect, test } from 'vitest';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { discard } from '../../src/queue/operate/discard.ts';
import { revive } from '../../src/queue/operate/revive.ts';
import { deadRow, enqueue, enqueueSome, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** A dead letter, made by a failing handler. */
async function die(options: object = {}): Promise<string> {
  const id = await enqueue(queue.admin, { ...options, priority: 0 });
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  expect(task.id).toBe(id);
  await worker.settle(outcome(task, 'dead', { reason: 'r', error: { message: 'm' } }));
  return id;
}

test('a revived task has its id, its errors and its fence, and all attempts anew', async () => {
  const options = {
    tags: { a: '1' },
    max_attempts: 4,
    retention: 'ever',
    timeout_ms: 5,
    source: 's',
    backoff: { kind: 'fixed', base_ms: 1 },
  };
  const id = await die(options);
  const { lease_no } = (await deadRow(queue.admin, id))!;
  expect(await revive(queue.admin, [id])).toEqual([
    { id, answer: 'revived', key: null, holder: null, status: null, problem: null },
  ]);
  expect(await deadRow(queue.admin, id)).toBeUndefined();
  expect(await liveRow(queue.admin, id)).toMatchObject({
    status: 'pending',
    lease_no,
    attempts: 0,
    losses: 0,
    releases: 0,
    lease_owner: null,
    error: { message: 'm' },
    priority: 0,
    tags: { a: '1' },
    max_attempts: 4,
    retention: 'ever',
    timeout_ms: '5',
    source: 's',
    backoff: { kind: 'fixed', base_ms: 1 },
  });
  expect(await queue.admin.value('select count(*)::int from taskq.task_errors where task_id = $1', id)).toBe(
    1,
  );
  const worker = await registerWorker(queue.admin);
  const again = await claimOne(worker);
  expect(again).toMatchObject({ id, attempts: 0 });
  expect(again.lease_no).not.toBe(lease_no);
});

test('whatever a task says of itself comes back with it', async () => {
  const id = await enqueue(queue.admin, {
    key: 'k',
    group: 'g',
    tags: { a: '1' },
    backoff: { kind: 'fixed', base_ms: 1 },
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  });
  await queue.admin.rows(
    `update taskq.tasks set workflow_id = 7, step = 's', on_end = '{"then": 1}',
       progress = '{"done": 2}', notify_done = true, retention = '3d', timeout_ms = 9, max_attempts = 6, source = 'there'
     where id = $1`,
    id,
  );
  const before = await liveRow(queue.admin, id);
  await addDead(queue.admin, id, 'r', {});
  await revive(queue.admin, [id]);
  const { available_at, not_before, ...same } = before!;
  expect(await liveRow(queue.admin, id)).toMatchObject(same);
});

test('with another payload, delay, and number of attempts', async () => {
  const id = await die();
  await revive(queue.admin, [id], { payload: 'null', delayMs: 60_000, maxAttempts: 9 });
  expect(await liveRow(queue.admin, id)).toMatchObject({ payload: null, max_attempts: 9 });
  const waits =
    "select available_at > clock_timestamp() + interval '30 s' and not_before = available_at from taskq.tasks";
  expect(await queue.admin.value(waits)).toBe(true);
});

test('never into the past', async () => {
  const id = await die();
  await queue.admin.rows("update taskq.dead_tasks set not_before = not_before - interval '1 hour'");
  await queue.admin.rows('select taskq.revive($1)', [id]);
  expect(
    await queue.admin.value(
      "select available_at > clock_timestamp() - interval '30 s' from taskq.tasks where id = $1",
      id,
    ),
  ).toBe(true);
});

test('what is not dead is not revived, and every id is answered once', async () => {
  const id = await die();
  const [waiting] = await enqueueSome(queue.admin, 1);
  expect(await revive(queue.admin, ['999999999', waiting!, id, id])).toMatchObject([
    { id, answer: 'revived' },
    { id: waiting, answer: 'not_dead', status: 'pending' },
    { id: '999999999', answer: 'not_dead', status: null },
  ]);
  expect(await revive(queue.admin, [id])).toMatchObject([{ id, answer: 'not_dead' }]);
});

test('one whose key a live task has is refused by the name of that task, the rest are revived', async () => {
  const dead = await die({ key: 'k' });
  const free = await die({ key: 'free' });
  const holder = await enqueue(queue.admin, { key: 'k' });
  expect(await revive(queue.admin, [dead, free])).toEqual([
    { id: dead, answer: 'key_held', key: 'k', holder, status: null, problem: null },
    { id: free, answer: 'revived', key: null, holder: null, status: null, problem: null },
  ]);
  expect(await deadRow(queue.admin, dead)).toBeDefined();
});

test('one whose key another task holds for a period is refused, also when that one is gone', async () => {
  const dead = await die({ key: 'k' });
  const holder = await enqueue(queue.admin, { key: 'k', key_for: '24h' });
  await queue.admin.rows('select taskq.cancel($1)', [holder]);
  expect(await revive(queue.admin, [dead])).toMatchObject([
    { id: dead, answer: 'key_held', key: 'k', holder },
  ]);
  await queue.admin.rows('update taskq.held_keys set until = clock_timestamp()');
  expect(await revive(queue.admin, [dead])).toMatchObject([{ answer: 'revived' }]);
});

test('one whose key is taken for a period while the revive waits for another key is refused', async () => {
  const [first, second] = [await die({ key: 'first' }), await die({ key: 'second' })];
  // As long as this test takes, whatever else the machine does.
  await queue.admin.rows("alter function taskq.revive set lock_timeout = '60s'");
  const taking = await queue.session();
  await taking.rows('begin');
  await enqueue(taking, { key: 'first' });
  const revived = revive(await queue.session(), [first, second]);
  await waitUntilBlocked(queue.admin);
  const holder = await enqueue(queue.admin, { key: 'second', key_for: 'ever' });
  await queue.admin.rows('select taskq.cancel($1)', [holder]);
  await taking.rows('rollback');
  expect(await revived).toMatchObject([
    { id: first, answer: 'revived' },
    { id: second, answer: 'key_held', key: 'second', holder },
  ]);
  expect(await deadRow(queue.admin, second)).toBeDefined();
  expect(await liveRow(queue.admin, second)).toBeUndefined();
  await queue.admin.rows("alter function taskq.revive set lock_timeout = '1s'");
});

test('one that holds its key for a period itself is revived', async () => {
  const dead = await die({ key: 'k', key_for: 'ever' });
  expect(await revive(queue.admin, [dead])).toMatchObject([{ answer: 'revived' }]);
});

test('by_hand leaves out the others, also if one was added by hand after the search', async () => {
  const [own, put] = [await die(), await die()];
  await addDead(queue.admin, put, 'parked');
  expect(await revive(queue.admin, [own, put], { byHand: false, delayMs: 60_000 })).toMatchObject([
    { id: own, answer: 'revived' },
    { id: put, answer: 'left_out' },
  ]);
  const other = await die();
  expect(await discard(queue.admin, [other, put], { byHand: false })).toMatchObject([
    { id: put, answer: 'left_out' },
    { id: other, answer: 'discarded' },
  ]);
  expect(await revive(queue.admin, [put], { byHand: true })).toMatchObject([{ answer: 'revived' }]);
});

test('of two with the same key one is revived, and the answer for the other names it', async () => {
  const [a, b] = [await die({ key: 'k' }), await die({ key: 'k' })];
  expect(await revive(queue.admin, [b, a])).toMatchObject([
    { id: a, answer: 'revived' },
    { id: b, answer: 'key_held', key: 'k', holder: a },
  ]);
});

test('a dead letter whose id is that of a live row is left as it is, and holds up no other one', async () => {
  const [odd, other] = [await die(), await die()];
  await queue.admin.rows(
    `insert into taskq.tasks (id, queue, type, priority, payload, available_at, not_before, created_at)
     values ($1, 'default', 'work', 2, '{}', now(), now(), now())`,
    odd,
  );
  expect(await revive(queue.admin, [odd, other])).toMatchObject([
    { id: odd, answer: 'not_dead', status: 'pending' },
    { id: other, answer: 'revived' },
  ]);
});

test('a dead letter that the database refuses is answered so, and stays; the others are revived', async () => {
  const [large, urgent, other] = [await die({ key: 'k' }), await die(), await die()];
  await queue.admin.rows(
    "update taskq.dead_tasks set payload = to_jsonb(repeat('x', 1048577)) where id = $1",
    large,
  );
  await queue.admin.rows('update taskq.dead_tasks set priority = 42 where id = $1', urgent);
  const nothing = { key: null, holder: null, status: null };
  const tooLarge = 'its payload is larger than 1 MB; give it another one';
  const answers = await revive(queue.admin, [large, urgent, other, '999999']);
  expect(answers.toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual([
    { ...nothing, id: large, answer: 'refused', problem: tooLarge },
    { ...nothing, id: urgent, answer: 'refused', problem: expect.stringContaining('priority_is_0_to_9') },
    { ...nothing, id: other, answer: 'revived', problem: null },
    { ...nothing, id: '999999', answer: 'not_dead', problem: null },
  ]);
  expect(await deadRow(queue.admin, large)).toBeDefined();
  const recorded = await queue.admin.rows("select task_ids from taskq.audit where verb = 'revive'");
  expect(recorded.at(-1)).toEqual({ task_ids: [other] });

  expect(await revive(queue.admin, [large])).toMatchObject([{ answer: 'refused', problem: tooLarge }]);
  expect(await revive(queue.admin, [large], { payload: '{}' })).toMatchObject([{ answer: 'revived' }]);
});

test('one that a trigger of the application refuses with a state of its own stays; the others are revived', async () => {
  const [odd, other] = [await die({ tags: { odd: 'yes' } }), await die()];
  await queue.admin.rows(`
    create function public.refuse() returns trigger language plpgsql as $$
      begin
        if new.tags ? 'odd' then raise exception 'not now' using errcode = 'U0001'; end if;
        return new;
      end $$;
    create trigger refuse before insert on taskq.tasks for each row execute function public.refuse()`);
  try {
    const answers = await revive(queue.admin, [odd, other]);
    expect(answers.toSorted((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
      { id: odd, answer: 'refused', problem: 'not now' },
      { id: other, answer: 'revived' },
    ]);
    expect(await deadRow(queue.admin, odd)).toBeDefined();
  } finally {
    await queue.admin.rows('drop function public.refuse() cascade');
  }
});
