import { expect, test } from 'vitest';
import { failures, useSpecification } from '../use-specification.ts';

const s3 = useSpecification(import.meta.url);

const TYPE = 'generate_fitment';

test('a failing task waits 5, 20 and 45 seconds: the square of its attempts, times the base', async () => {
  const { id } = await s3.enqueue(TYPE, {}, { maxAttempts: 4 });
  await s3.admin.rows('insert into app.outages values ($1)', TYPE);
  const worker = s3.work(['--until-idle']);
  for (const [attempts, delayMs] of [
    [1, 5000],
    [2, 20_000],
    [3, 45_000],
  ] as const) {
    await failures(worker, attempts);
    expect(await s3.task(id)).toMatchObject({ status: 'pending', attempts });
    expect(await s3.latestDelayMs(id)).toBe(delayMs);
    await s3.makeDue(id);
  }
  await worker.exit;
  expect(await s3.task(id)).toMatchObject({ status: 'dead', attempts: 4 });
});

test('three attempts are the default; after the third the task is dead', async () => {
  const { id } = await s3.enqueue(TYPE);
  await s3.admin.rows('insert into app.outages values ($1)', TYPE);
  const worker = s3.work(['--until-idle']);
  for (const attempts of [1, 2]) {
    await failures(worker, attempts);
    await s3.makeDue(id);
  }
  const died = await worker.waitForLog((line) => line.event === 'task.died');
  expect(died).toMatchObject({ task_id: id, attempt: 3, reason: 'attempts_spent' });
  expect(await s3.task(id)).toMatchObject({ status: 'dead', attempts: 3, reason: 'attempts_spent' });
});
