import { describe, expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** What migrating a release does that serves no worker of today. */
const NEWER = 'update taskq.release set number = 1001, oldest_client = 1000';

const REFUSES_CLAIMS = 'alter function taskq.claim rename to claim_of_tomorrow';

describe('a running worker that a newer release no longer serves', () => {
  test('drains what it holds, says which release is needed, and exits with 3', async () => {
    const running = await queue.enqueue('wait', { until: 'go' });
    const worker = queue.work(['--concurrency', '2']);
    await queue.saw(running, 'start');
    await queue.rows(NEWER);
    await queue.rows(REFUSES_CLAIMS);
    await worker.waitForLog(event('worker.stopping'));
    await queue.witness(running, 'go');
    expect(await worker.exit, worker.stdout()).toEqual({ code: 3, signal: null });
    const events = eventsOf(worker, 'worker.outdated');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      level: 'error',
      error: {
        message: expect.stringMatching(
          /needs taskq of release 1000 or later, this one is \d+ — install a newer version of taskq$/,
        ),
      },
    });
    expect(await queue.task(running)).toMatchObject({ status: 'completed' });
  });

  test('notices it when its connections are back, and keeps going if the release still serves it', async () => {
    const worker = queue.work();
    await worker.waitForLog(event('worker.started'));
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'taskq worker%'`;
    await queue.rows('update taskq.release set number = 1001');
    // The end of an idle session is noticed where heartbeats are sent; they have one soon after the start.
    const beating = `select exists (select from pg_stat_activity
      where datname = current_database() and application_name like 'taskq worker %heartbeat')`;
    await until(
      () => queue.value(beating),
      async () => worker.stdout(),
    );
    await queue.rows(cut);
    await worker.waitForLog(event('connection.restored'));
    await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
    await queue.rows(NEWER);
    await queue.rows(cut);
    expect(await worker.exit, worker.stdout()).toEqual({ code: 3, signal: null });
  });

  test('is not ended by a statement that is refused for another reason', async () => {
    const worker = queue.work();
    await worker.waitForLog(event('worker.started'));
    await queue.rows(REFUSES_CLAIMS);
    const id = await queue.enqueue('hello-js');
    await until(
      async () => eventsOf(worker, 'statement.failed').length >= 3,
      async () => worker.stdout(),
    );
    await queue.rows('alter function taskq.claim_of_tomorrow rename to claim');
    await queue.hasStatus(id, 'completed');
    expect(eventsOf(worker, 'worker.outdated')).toEqual([]);
  });

  test('leaves to its lease what the newer release refuses to record, and says so', async () => {
    const id = await queue.enqueue('wait', { until: 'go' });
    const worker = queue.work(['--concurrency', '1', '--lease', '30s']);
    await queue.saw(id, 'start');
    await queue.rows(NEWER);
    await queue.rows('alter function taskq.complete rename to complete_of_tomorrow');
    await queue.rows('alter function taskq.settle rename to settle_of_tomorrow');
    await queue.witness(id, 'go');
    expect(await worker.exit, worker.stdout()).toEqual({ code: 3, signal: null });
    expect(eventsOf(worker, 'outcome.unrecorded')).toMatchObject([{ task_ids: [id] }]);
    expect(await queue.task(id)).toMatchObject({ status: 'running' });
  });

  test('ends every process of --processes, and then the command, with 3', async () => {
    const supervisor = queue.work(['--processes', '2']);
    await until(
      async () => eventsOf(supervisor, 'worker.started').length === 2,
      async () => supervisor.stdout(),
    );
    await queue.rows(NEWER);
    await queue.rows(REFUSES_CLAIMS);
    await queue.enqueueSome(4, 'hello-js');
    expect(await supervisor.exit, supervisor.stdout()).toEqual({ code: 3, signal: null });
  });
});
