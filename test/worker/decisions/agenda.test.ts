import { describe, expect, test } from 'vitest';
import type { FireAnswer, UpcomingSchedule } from '../../../src/queue/protocol/fire-schedule.ts';
import { Agenda } from '../../../src/worker/schedule/agenda.ts';

const TICK = Date.parse('2030-01-01T00:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();

/** A schedule of each minute, read a second before its tick. */
function upcoming(given: Partial<UpcomingSchedule> = {}): UpcomingSchedule {
  return {
    ...{ name: 's', expression: '* * * * *', tz: 'UTC', missed: 'latest' },
    ...{ next_at: iso(TICK), in_ms: 1000, now_ms: TICK - 1000 },
    ...given,
  };
}

function answer(given: Partial<FireAnswer>): FireAnswer {
  return { answer: 'fired', nextAt: iso(TICK + 60_000), inMs: 60_000, id: '1', tasks: 1, ...given };
}

function agendaOf(...schedules: UpcomingSchedule[]): Agenda {
  const agenda = new Agenda();
  agenda.learn(schedules, 5000);
  return agenda;
}

test('a schedule is due when its tick has come by the clock of the database, on any clock of the process', () => {
  const agenda = agendaOf(upcoming());
  expect(agenda.nextAt).toBe(6000);
  expect(agenda.due(5999)).toEqual([]);
  const [due] = agenda.due(6000);
  expect(agenda.firing(due!, 6000)).toMatchObject({ ticks: [TICK], next: TICK + 60_000, passed: 0 });
});

test('one whose tick is not computed yet is due at once, and fires nothing', () => {
  const agenda = agendaOf(upcoming({ next_at: null, in_ms: null, now_ms: TICK - 500 }));
  const [due] = agenda.due(5000);
  expect(agenda.firing(due!, 5000)).toMatchObject({ ticks: [], next: TICK });
});

describe('after an answer', () => {
  const known = upcoming();

  test('fired: the next tick', () => {
    const agenda = agendaOf(known);
    agenda.answered(known, answer({ inMs: 59_990 }), 6010);
    expect(agenda.nextAt).toBe(66_000);
    expect(agenda.firing(known, 66_000)).toMatchObject({ ticks: [TICK + 60_000] });
  });

  test('fired by another worker: its next tick, without asking', () => {
    const agenda = agendaOf(known);
    agenda.answered(known, answer({ answer: 'changed', inMs: 59_990 }), 6010);
    expect([agenda.nextAt, agenda.isOutdated]).toEqual([66_000, false]);
  });

  test('changed in another way: it is forgotten, and to be asked for', () => {
    const agenda = agendaOf(known);
    agenda.answered(known, answer({ answer: 'changed', nextAt: known.next_at, inMs: -5 }), 6005);
    expect([agenda.nextAt, agenda.isOutdated]).toEqual([Number.POSITIVE_INFINITY, true]);
    agenda.learn([known], 7000);
    expect(agenda.isOutdated).toBe(false);
  });

  test('early: it waits for the clock of the database', () => {
    const agenda = agendaOf(known);
    agenda.answered(known, answer({ answer: 'early', nextAt: known.next_at, inMs: 30 }), 6000);
    expect(agenda.nextAt).toBe(6030);
    agenda.answered(known, answer({ answer: 'early', nextAt: known.next_at, inMs: -10 }), 6030);
    expect(agenda.nextAt).toBeGreaterThan(6030);
  });

  test('busy or failed: again, at growing intervals, however often it is read meanwhile', () => {
    const agenda = agendaOf(known);
    const waits: number[] = [];
    for (let now = 6000; waits.length < 12; now = agenda.nextAt) {
      if (waits.length % 2 === 0) agenda.answered(known, answer({ answer: 'busy' }), now);
      else agenda.failed(known, now);
      agenda.learn([{ ...known, in_ms: -1, now_ms: TICK }], now);
      waits.push(agenda.nextAt - now);
    }
    expect(waits).toEqual([50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000]);
  });

  test('gone, or without another tick: it is forgotten', () => {
    for (const end of [
      { answer: 'gone', nextAt: null, inMs: null },
      { nextAt: 'infinity', inMs: null },
    ] as const) {
      const agenda = agendaOf(known);
      agenda.answered(known, answer(end), 6000);
      expect([agenda.isEmpty, agenda.isOutdated]).toEqual([true, false]);
    }
  });
});

test('when the database has returned as many as it returns, there are more to ask for once some have fired', () => {
  const all = Array.from({ length: 100 }, (_, nth) => upcoming({ name: `s${nth}` }));
  const agenda = agendaOf(...all);
  expect(agenda.due(5000)).toEqual([]);
  expect(agenda.isOutdated).toBe(false);
  expect(agenda.due(6000)).toHaveLength(100);
  expect(agenda.isOutdated).toBe(false);
  agenda.failed(all[0]!, 6000);
  expect(agenda.isOutdated).toBe(false);
  agenda.answered(all[1]!, answer({ inMs: 59_990 }), 6010);
  expect(agenda.isOutdated).toBe(true);
  // One that failed is not tried sooner because it was left out meanwhile.
  agenda.learn(all.slice(1).concat(upcoming({ name: 'other' })), 6010);
  agenda.learn(all, 6020);
  expect(agenda.due(6049).map(({ name }) => name)).not.toContain('s0');
});
