import type pg from 'pg';
import * as v from 'valibot';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  Again,
  defineHandler,
  type PayloadOf,
  type PgClient,
  type PgPool,
  type ResultOf,
  Retry,
  type TaskContext,
  type TaskQueue,
} from '../../src/index.ts';

const handlers = {
  annotated: defineHandler({
    timeout: '30s',
    async run(payload: { to: string }, ctx) {
      expectTypeOf(ctx).toEqualTypeOf<TaskContext>();
      return { sent: payload.to, at: new Date(), nothing: undefined, id: ctx.id };
    },
  }),
  given: defineHandler<{ to: string }>({ run: ({ to }) => to }),
  zod: defineHandler({
    schema: z.object({ n: z.number().default(3) }),
    run(payload) {
      expectTypeOf(payload).toEqualTypeOf<{ n: number }>();
      return payload.n > 3 ? payload.n : new Retry();
    },
  }),
  valibot: defineHandler({
    schema: v.object({
      when: v.pipe(
        v.string(),
        v.transform((text) => new Date(text)),
      ),
    }),
    run: async ({ when }) => when.getTime(),
  }),
  bare: async (payload: { x: number }) => [payload.x, 1n] as const,
  nothing: () => {},
  again: ({ page }: { page: number }) => (page > 9 ? { page } : new Again({ payload: { page: page + 1 } })),
};

type Handlers = typeof handlers;

/** Never called: it is there to be checked. */
declare const queue: TaskQueue<Handlers>;
declare const untyped: TaskQueue;

describe('what handlers take and give', () => {
  test('a producer gives what the schema takes, or what the parameter says', () => {
    expectTypeOf<PayloadOf<Handlers, 'annotated'>>().toEqualTypeOf<{ to: string }>();
    expectTypeOf<PayloadOf<Handlers, 'given'>>().toEqualTypeOf<{ to: string }>();
    expectTypeOf<PayloadOf<Handlers, 'zod'>>().toEqualTypeOf<{ n?: number | undefined }>();
    expectTypeOf<PayloadOf<Handlers, 'valibot'>>().toEqualTypeOf<{ when: string }>();
    expectTypeOf<PayloadOf<Handlers, 'bare'>>().toEqualTypeOf<{ x: number }>();
    expectTypeOf<PayloadOf<Handlers, 'nothing'>>().toEqualTypeOf<unknown>();
  });

  test('a result is what JSON makes of what is returned', () => {
    expectTypeOf<ResultOf<Handlers, 'annotated'>>().toEqualTypeOf<{
      sent: string;
      at: string;
      nothing: undefined;
      id: string;
    }>();
    expectTypeOf<ResultOf<Handlers, 'zod'>>().toEqualTypeOf<number>();
    expectTypeOf<ResultOf<Handlers, 'valibot'>>().toEqualTypeOf<number>();
    expectTypeOf<ResultOf<Handlers, 'bare'>>().toEqualTypeOf<readonly [number, string]>();
    expectTypeOf<ResultOf<Handlers, 'nothing'>>().toEqualTypeOf<null>();
    expectTypeOf<ResultOf<Handlers, 'again'>>().toEqualTypeOf<{ page: number }>();
    expectTypeOf<ResultOf<Handlers, 'given'>>().toEqualTypeOf<unknown>();
  });
});

describe('a queue with a map of handlers', () => {
  test('takes their types and payloads, and no other', () => {
    const enqueue = () => {
      void queue.enqueue('annotated', { to: 'ann' }, { delay: '1m' });
      void queue.enqueue('zod');
      void queue.enqueue('zod', { n: 1 });
      void queue.enqueue('nothing');
      // @ts-expect-error: no such type
      void queue.enqueue('anotated', { to: 'ann' });
      // @ts-expect-error: the payload is not optional
      void queue.enqueue('annotated');
      // @ts-expect-error: `to` is text
      void queue.enqueue('annotated', { to: 1 });
      // @ts-expect-error: no such option
      void queue.enqueue('annotated', { to: 'ann' }, { dely: '1m' });
      void queue.enqueueMany([{ type: 'annotated', payload: { to: 'ann' }, key: 'k' }, { type: 'nothing' }]);
      // @ts-expect-error: the payload of another type
      void queue.enqueueMany([{ type: 'annotated', payload: { x: 1 } }]);
    };
    expectTypeOf(enqueue).toBeFunction();
  });

  test('knows the result by the type', () => {
    const look = async () => {
      const task = await queue.get('1');
      if (task?.type === 'annotated') {
        expectTypeOf(task.result).toEqualTypeOf<{
          sent: string;
          at: string;
          nothing: undefined;
          id: string;
        } | null>();
        expectTypeOf(task.payload).toEqualTypeOf<{ to: string }>();
      }
      for await (const { type, result } of queue.list({ type: 'valibot', status: 'completed' })) {
        expectTypeOf(type).toEqualTypeOf<'valibot'>();
        expectTypeOf(result).toEqualTypeOf<number | null>();
      }
      const end = await queue.wait<'valibot'>('1');
      if (end.status === 'completed' && end.resultNote === null) {
        expectTypeOf(end.result).toEqualTypeOf<number>();
      }
      if (end.status === 'dead') expectTypeOf(end.reason).toEqualTypeOf<string>();
    };
    expectTypeOf(look).toBeFunction();
  });
});

describe('a queue without', () => {
  test('takes whatever it is given', () => {
    const use = async () => {
      void untyped.enqueue('anything', { at: 'all' });
      const task = await untyped.get('1');
      if (task !== undefined) expectTypeOf(task.result).toEqualTypeOf<unknown>();
      for await (const one of untyped.list({ type: 'anything' })) {
        expectTypeOf(one.id).toEqualTypeOf<string>();
        expectTypeOf(one.type).toEqualTypeOf<'anything'>();
        expectTypeOf(one.result).toEqualTypeOf<unknown>();
      }
      const { tasks } = await untyped.list({ type: 'anything' }).page();
      expectTypeOf(tasks[0]!.payload).toEqualTypeOf<unknown>();
      for await (const one of untyped.list()) expectTypeOf(one.type).toEqualTypeOf<string>();
    };
    expectTypeOf(use).toBeFunction();
  });
});

test("pg's own pools and clients fit", () => {
  expectTypeOf<pg.Pool>().toExtend<PgPool>();
  expectTypeOf<pg.PoolClient>().toExtend<PgClient>();
  expectTypeOf<pg.Client>().toExtend<PgClient>();
  // A pool's statements run outside the caller's transaction.
  expectTypeOf<pg.Pool>().not.toExtend<PgClient>();
});
