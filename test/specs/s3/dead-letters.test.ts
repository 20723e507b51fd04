import { beforeEach, expect, test } from 'vitest';
import { useSpecification } from '../use-specification.ts';
import { doneIds } from '../witnesses.ts';

const s3 = useSpecification(import.meta.url);

const TYPE = 'generate_fitment';
const PAYLOAD = { part: 'brake pad' };

let id: string;

/** A task has spent its three attempts. */
beforeEach(async () => {
  ({ id } = await s3.enqueue(TYPE, PAYLOAD));
  await s3.admin.rows('update taskq.tasks set attempts = 2');
  await s3.admin.rows('insert into app.outages values ($1)', TYPE);
  await s3.taskq(['work', '--until-idle']);
});

test('a dead task is visible with its error, type, payload and attempts', async () => {
  const error = { name: 'Error', message: `${TYPE} has an outage` };
  const known = { id, type: TYPE, payload: PAYLOAD, attempts: 3, reason: 'attempts_spent', error };
  const [list, show, text] = await Promise.all([
    s3.taskq(['dead', 'list', '--json']),
    s3.taskq(['dead', 'show', id, '--json']),
    s3.taskq(['dead', 'list']),
  ]);
  expect(JSON.parse(list.stdout)).toMatchObject({ tasks: [known], next_after: null });
  expect(JSON.parse(show.stdout)).toMatchObject({
    ...known,
    status: 'dead',
    errors: [{ attempt: 3, error }],
  });
  for (const seen of [id, TYPE, JSON.stringify(PAYLOAD), '3', error.message])
    expect(text.stdout).toContain(seen);
});

test('a dead task is revived by hand: same id and history, all attempts anew', async () => {
  await s3.admin.rows('delete from app.outages');
  expect(await s3.taskq(['dead', 'revive', id])).toMatchObject({ code: 0 });
  expect(await s3.task(id)).toMatchObject({ status: 'pending', attempts: 0, payload: PAYLOAD });
  await s3.taskq(['work', '--until-idle']);
  expect(await s3.task(id)).toMatchObject({ status: 'completed', result: { ...PAYLOAD, fits: true } });
  expect(await doneIds(s3.admin)).toEqual([id]);
  const show = await s3.taskq(['show', id, '--json']);
  expect(JSON.parse(show.stdout).errors).toHaveLength(1);
});
