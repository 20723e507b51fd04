// Writes golden-ticks.json: when each of 12 expressions fires around two changes of the clocks in each of six zones. It
// walks every minute of the windows and asks `Intl` what clocks show; it uses nothing of ours and no cron library.
//
//   node test/domain/schedule/write-golden-ticks.mjs
import { writeFileSync } from 'node:fs';

/** Windows of 60 hours, around a change of the clocks where the zone has any. */
const ZONES = {
  'Europe/Berlin': ['2025-03-29T00:00Z', '2025-10-25T00:00Z'],
  'America/New_York': ['2025-03-08T12:00Z', '2025-11-01T12:00Z'],
  // Changes by half an hour.
  'Australia/Lord_Howe': ['2025-04-04T12:00Z', '2025-10-03T12:00Z'],
  // Skips the hour from midnight.
  'Africa/Cairo': ['2024-04-24T12:00Z', '2024-10-30T12:00Z'],
  // Has half an hour, and no change.
  'Asia/Kolkata': ['2025-03-29T00:00Z', '2025-10-25T00:00Z'],
  // Skipped the whole of 30 December 2011.
  'Pacific/Apia': ['2011-04-01T12:00Z', '2011-12-29T00:00Z'],
};

const EXPRESSIONS = [
  '30 2 * * *',
  '0 0 * * *',
  '15,45 1-3 * * *',
  '*/20 2 * * *',
  '30 * * * *',
  '*/30 * * * *',
  '0 */6 * * *',
  '0 3 * * SUN',
  '59 23 30 * *',
  '30 1 1 * SAT',
  '*/20 0 2 * * *',
  '30 15 * * * MON-FRI',
];

const HOURS = 60;
const NAMES = {
  4: 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' '),
  5: 'SUN MON TUE WED THU FRI SAT'.split(' '),
};
const LEAST = [0, 0, 0, 1, 1, 0];
const MOST = [59, 59, 23, 31, 12, 6];

function valuesOf(field, place) {
  const number = (text) => (/^\d+$/.test(text) ? Number(text) : NAMES[place].indexOf(text) + LEAST[place]);
  return field.split(',').flatMap((element) => {
    const [range, step = '1'] = element.split('/');
    const [from, to = from] = range === '*' ? [LEAST[place], MOST[place]] : range.split('-').map(number);
    const values = [];
    for (let value = from; value <= to; value += Number(step)) values.push(value);
    return values;
  });
}

/** The seconds of a shown minute at which an expression fires. */
function secondsOf(expression, { month, day, weekday, hour, minute }) {
  const fields = expression.split(' ');
  if (fields.length === 5) fields.unshift('0');
  const has = (place, value) => valuesOf(fields[place], place).includes(value);
  const isDay =
    fields[3] === '*' || fields[5] === '*' ? has(3, day) && has(5, weekday) : has(3, day) || has(5, weekday);
  return has(1, minute) && has(2, hour) && isDay && has(4, month) ? valuesOf(fields[0], 0) : [];
}

const isHourly = (expression) => expression.split(' ').at(-4).includes('*');

/** A shown minute, as a count of minutes: what clocks show a minute later is one more. */
function shownMinute(clock, at) {
  const parts = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute) / 60_000;
}

function fieldsOf(minutes) {
  const date = new Date(minutes * 60_000);
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}

function walk(zone, from) {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' },
  });
  const ticks = Object.fromEntries(EXPRESSIONS.map((expression) => [expression, new Set()]));
  const begin = Date.parse(from);
  let latest = shownMinute(clock, begin - 60_000);
  let before = latest;
  for (let at = begin; at < begin + HOURS * 3_600_000; at += 60_000) {
    const now = shownMinute(clock, at);
    for (const expression of EXPRESSIONS) {
      const add = (ms) => ticks[expression].add(new Date(ms).toISOString());
      // Skipped minutes: once, now.
      for (let skipped = before + 1; skipped < now; skipped++)
        if (secondsOf(expression, fieldsOf(skipped)).length > 0) add(at);
      if (now <= latest && !isHourly(expression)) continue; // shown before
      for (const second of secondsOf(expression, fieldsOf(now))) add(at + second * 1000);
    }
    before = now;
    latest = Math.max(latest, now);
  }
  return Object.fromEntries(
    Object.entries(ticks).map(([expression, instants]) => [expression, [...instants].toSorted()]),
  );
}

const table = Object.entries(ZONES).flatMap(([zone, windows]) =>
  windows.map((from) => ({ zone, from, hours: HOURS, ticks: walk(zone, from) })),
);
const lines = table.map(
  ({ ticks, ...window }) =>
    `  {${JSON.stringify(window).slice(1, -1)},"ticks":{\n${Object.entries(ticks)
      .map(([expression, instants]) => `    ${JSON.stringify(expression)}:${JSON.stringify(instants)}`)
      .join(',\n')}}}`,
);
writeFileSync(new URL('./golden-ticks.json', import.meta.url), `[\n${lines.join(',\n')}\n]\n`);
