import { createWorker, defineHandler } from 'taskq';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitUntil } from '../queue/waiting.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

const handlers = {
  report: defineHandler({ schema: z.object({ days: z.number() }), run: (_, { tick }) => ({ tick }) }),
};

const daily = { expression: '@daily', type: 'report', payload: { days: 1 }, allowUnknown: true } as const;

describe('queue.schedules', () => {
  test('sets, lists, pauses, resumes, runs and removes schedules', async () => {
    const { schedules } = library.open<typeof handlers>({ handlers });
    const set = await schedules.set('nightly', {
      ...daily,
      tz: 'Europe/Berlin',
      tags: { a: 'b' },
      jitter: '1m',
    });
    expect(set.created).toBe(true);
    expect(set.nextAt!.getTime()).toBeGreaterThan(Date.now());
    expect((await schedules.set('nightly', { ...daily, missed: 'all', overlap: 'skip' })).created).toBe(
      false,
    );
    const record = {
      ...{
        name: 'nightly',
        expression: '@daily',
        tz: 'UTC',
        type: 'report',
        payload: { days: 1 },
        options: {},
      },
      ...{ missed: 'all:100', overlap: 'skip', jitterMs: 0, pause: null },
      ...{ lastTick: null, lastTaskId: null, lastStatus: null },
    };
    expect(await schedules.list()).toMatchObject([record]);
    expect(await schedules.pause('nightly', { reason: 'deploy', by: 'ann' })).toBe(true);
    expect((await schedules.get('nightly'))!.pause).toMatchObject({
      reason: 'deploy',
      since: expect.any(Date),
    });
    expect(await schedules.resume('nightly')).toBe(true);
    expect(await schedules.resume('nightly')).toBe(false);
    const ran = (await schedules.run('nightly'))!;
    expect(ran.created).toBe(true);
    expect(await schedules.run('nightly')).toEqual({ id: ran.id, created: false, error: null });
    expect(await schedules.remove('nightly')).toBe(true);
    expect(await schedules.get('nightly')).toBeUndefined();
    expect([await schedules.run('nightly'), await schedules.pause('nightly')]).toEqual([undefined, false]);
  });

  test('previews an expression without a database', async () => {
    const from = new Date('2030-03-30T12:00:00Z');
    const ticks = await library
      .open()
      .schedules.preview('30 2 * * *', { tz: 'Europe/Berlin', from, count: 2 });
    expect(ticks).toEqual([new Date('2030-03-31T01:00:00Z'), new Date('2030-04-01T00:30:00Z')]);
  });

  test.each([
    ['an expression that never fires', { expression: '0 0 30 2 *' }],
    ['an unknown time zone', { tz: 'Mars' }],
    ['an unknown option', { zone: 'UTC' }],
    ['a time', { at: new Date() }],
    ['a payload that its schema refuses', { payload: { days: 'one' } }],
  ])('refuses %s, and stores nothing', async (_what, wrong) => {
    const { schedules } = library.open<typeof handlers>({ handlers });
    await expect(schedules.set('x', { ...daily, ...wrong } as never)).rejects.toBeInstanceOf(Error);
    expect(await schedules.list()).toEqual([]);
  });

  test('refuses an unknown type and a name of 201 bytes', async () => {
    const { schedules } = library.open();
    const { allowUnknown: _, ...known } = daily;
    await expect(schedules.set('x', { ...known, type: 'reprot' })).rejects.toMatchObject({
      code: 'unknown_type',
    });
    await expect(schedules.set('x'.repeat(201), daily)).rejects.toMatchObject({ code: 'bad_name' });
  });
});

test('a worker inside an application adds its schedules, changes none, and fires them', async () => {
  const { schedules } = library.open();
  await schedules.set('kept', { ...daily, expression: '@weekly' });
  const begin = () =>
    createWorker({
      ...{ databaseUrl: library.url, handlers, poll: '50ms' },
      schedules: { kept: { ...KEPT }, beat: { ...KEPT, expression: '@every 1s' } },
    });
  const worker = begin();
  await worker.start();
  await waitUntil(async () => (await schedules.get('beat'))?.lastStatus === 'completed', 'no tick has run');
  await worker.stop();
  expect((await schedules.list()).map(({ name, expression }) => [name, expression])).toEqual([
    ['beat', '@every 1s'],
    ['kept', '@weekly'],
  ]);
  expect(() =>
    createWorker({ databaseUrl: library.url, handlers, schedules: { x: { type: 'report' } } as never }),
  ).toThrow(/schedules: x: expression/);
});

const KEPT = { expression: '@daily', type: 'report', payload: { days: 1 } } as const;
