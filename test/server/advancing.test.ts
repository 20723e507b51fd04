import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Queryable } from '../../src/lib/database.ts';
import { Advancing } from '../../src/server/advancing.ts';

const NONE = { advanced: 0, next_ms: null, ended: [] };

/** A database whose answers the test gives. */
function scripted() {
  const asked: PromiseWithResolvers<object[]>[] = [];
  const query = () => {
    const answer = promised<object[]>();
    asked.push(answer);
    return answer.promise;
  };
  return { asked, db: { query } as unknown as Queryable };
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

function promised<T>(): PromiseWithResolvers<T> {
  let [resolve, reject]: [(value: T) => void, (error: unknown) => void] = [() => {}, () => {}];
  const promise = new Promise<T>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  return { promise, resolve, reject };
}

async function begun() {
  const { asked, db } = scripted();
  const errors: unknown[] = [];
  const advancing = new Advancing({ db, report: (error) => errors.push(error) });
  advancing.begin();
  await turn();
  expect(asked).toHaveLength(1);
  return { asked, advancing, errors };
}

test('nothing more is asked once no operation goes on', async () => {
  const { asked, advancing } = await begun();
  asked[0]!.resolve([NONE]);
  await turn();
  expect(asked).toHaveLength(1);
  await advancing.close();
});

test('an operation that starts while the database says that there is none is advanced', async () => {
  const { asked, advancing } = await begun();
  advancing.begin();
  asked[0]!.resolve([NONE]);
  await expect.poll(() => asked).toHaveLength(2);
  asked[1]!.resolve([NONE]);
  await advancing.close();
});

test.each(Array.from({ length: 12 }, (_, steps) => [steps]))(
  'nor is one missed that starts %i steps after that answer',
  async (steps) => {
    const { asked, advancing } = await begun();
    asked[0]!.resolve([NONE]);
    for (let step = 0; step < steps; step++) await null;
    advancing.begin();
    await expect.poll(() => asked).toHaveLength(2);
    asked[1]!.resolve([NONE]);
    await advancing.close();
  },
);

test('after an error it asks again', async () => {
  const { asked, advancing, errors } = await begun();
  asked[0]!.reject(new Error('of the database'));
  await expect.poll(() => asked).toHaveLength(2);
  expect(errors).toEqual([new Error('of the database')]);
  asked[1]!.resolve([NONE]);
  await turn();
  expect(asked).toHaveLength(2);
  await advancing.close();
});
