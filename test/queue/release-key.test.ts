import { describe, expect, test } from 'vitest';
import { releaseKey } from '../../src/queue/operate/keys.ts';
import { enqueue } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const K = { queue: 'default', key: 'k' };
const EVER = { key: 'k', key_for: 'ever' };

interface Made {
  readonly id: string;
  readonly created: boolean;
}

async function keyed(session: Session, options: object = { key: 'k' }): Promise<Made> {
  const text = "select id, created from taskq.enqueue('work', '{}', $1)";
  return (await session.row<Made>(text, options))!;
}

/** A task that has ended, and holds the key forever. */
async function holdFor(options: object = EVER): Promise<string> {
  const id = await enqueue(queue.admin, options);
  await queue.admin.rows('select taskq.cancel($1)', [id]);
  return id;
}

async function open(): Promise<Session> {
  const session = await queue.session();
  await session.rows('begin');
  return session;
}

test('a key whose period is over is not held, and releasing it is no action to record', async () => {
  await holdFor();
  await queue.admin.rows("update taskq.held_keys set until = clock_timestamp() - interval '1 s'");
  expect(await releaseKey(queue.admin, K)).toBe('not_held');
  expect(await queue.admin.rows("select from taskq.audit where verb = 'release key'")).toEqual([]);
});

describe('a key that is freed while it is enqueued', () => {
  test('belongs to its holder until the release commits, and no session waits for that', async () => {
    const holder = await holdFor();
    const releasing = await open();
    expect(await releaseKey(releasing, K)).toBe('released');
    expect(await keyed(queue.admin, EVER)).toEqual({ id: holder, created: false });
    await releasing.rows('commit');
    const made = await keyed(queue.admin);
    expect(made.created).toBe(true);
    expect(await keyed(queue.admin)).toEqual({ id: made.id, created: false });
  });

  test('goes to a bulk that found it held and had to wait for another key meanwhile', async () => {
    await holdFor();
    const [other, bulk] = [await open(), await queue.session()];
    await keyed(other, { key: 'a' });
    const made = bulk.rows<Made>(
      `select id, created from taskq.enqueue_many('[{"type": "work", "key": "a"}, {"type": "work", "key": "k"}]')`,
    );
    await waitUntilBlocked(queue.admin);
    expect(await releaseKey(queue.admin, K)).toBe('released');
    await other.rows('rollback');
    expect(await made).toMatchObject([{ created: true }, { created: true }]);
  });

  test('is live where the enqueue that took it commits first, and then ends with its task', async () => {
    await holdFor();
    await queue.admin.rows('update taskq.held_keys set until = clock_timestamp()');
    // As long as this test takes, whatever else the machine does.
    await queue.admin.rows("alter function taskq.release_key set lock_timeout = '60s'");
    const taking = await open();
    const taken = await keyed(taking, EVER);
    const released = releaseKey(await queue.session(), K);
    await waitUntilBlocked(queue.admin);
    await taking.rows('commit');
    expect(await released).toBe('live');
    expect(await keyed(queue.admin)).toEqual({ id: taken.id, created: false });
    await queue.admin.rows('select taskq.cancel($1)', [taken.id]);
    expect(await keyed(queue.admin)).toMatchObject({ created: true });
    await queue.admin.rows("alter function taskq.release_key set lock_timeout = '1s'");
  });

  test('stays taken where the enqueue has not committed: there was nothing to free yet', async () => {
    const taking = await open();
    const taken = await keyed(taking, EVER);
    expect(await releaseKey(queue.admin, K)).toBe('not_held');
    await taking.rows('commit');
    await queue.admin.rows('select taskq.cancel($1)', [taken.id]);
    expect(await keyed(queue.admin)).toEqual({ id: taken.id, created: false });
    expect(await releaseKey(queue.admin, K)).toBe('released');
  });
});

describe('a key whose holder is claimed or completed while it is freed', () => {
  test('a claim waits for no release, and no release for a claim', async () => {
    await enqueue(queue.admin, EVER);
    const releasing = await open();
    expect(await releaseKey(releasing, K)).toBe('live');
    const claiming = await open();
    const task = await claimOne(await registerWorker(claiming));
    await releasing.rows('rollback');
    expect(await releaseKey(queue.admin, K)).toBe('live');
    await claiming.rows('commit');
    expect(await keyed(queue.admin)).toEqual({ id: task.id, created: false });
  });

  /** Its holder is completed, and the key freed, by two transactions that are not committed yet. */
  async function endAndRelease() {
    const id = await enqueue(queue.admin, EVER);
    const completing = await queue.session();
    const worker = await registerWorker(completing);
    const task = await claimOne(worker);
    await completing.rows('begin');
    expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    const releasing = await open();
    expect(await releaseKey(releasing, K)).toBe('live');
    return { id, completing, releasing };
  }

  test('is held on by the completed task until the release is committed too', async () => {
    const { id, completing, releasing } = await endAndRelease();
    await completing.rows('commit');
    expect(await keyed(queue.admin)).toEqual({ id, created: false });
    await releasing.rows('commit');
    expect(await keyed(queue.admin)).toMatchObject({ created: true });
  });

  test('is waited for by an enqueue while only the completion is not committed', async () => {
    const { id, completing, releasing } = await endAndRelease();
    await releasing.rows('commit');
    const made = keyed(await queue.session());
    await waitUntilBlocked(queue.admin);
    await completing.rows('commit');
    expect(await made).toMatchObject({ created: true });
    expect((await made).id).not.toBe(id);
  });

  test('of two that free it at once one does, and the other finds it free', async () => {
    await holdFor();
    await queue.admin.rows("alter function taskq.release_key set lock_timeout = '60s'");
    const first = await open();
    expect(await releaseKey(first, K, { by: 'ann' })).toBe('released');
    const second = releaseKey(await queue.session(), K, { by: 'bob' });
    await waitUntilBlocked(queue.admin);
    await first.rows('commit');
    expect(await second).toBe('not_held');
    const by = await queue.admin.rows("select by from taskq.audit where verb = 'release key'");
    expect(by).toEqual([{ by: 'ann' }]);
    await queue.admin.rows("alter function taskq.release_key set lock_timeout = '1s'");
  });
});
