import pc from 'picocolors';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { formatDeadList } from '../../src/cli/present/format-dead-list.ts';
import { formatExplanation } from '../../src/cli/present/format-explanation.ts';
import { formatQueues } from '../../src/cli/present/format-queues.ts';
import { formatStats } from '../../src/cli/present/format-stats.ts';
import { formatTaskList } from '../../src/cli/present/format-task-list.ts';
import { formatTypes } from '../../src/cli/present/format-types.ts';
import { formatWorkers } from '../../src/cli/present/format-workers.ts';
import { type Column, formatTable } from '../../src/cli/present/table.ts';
import type { Screen } from '../../src/cli/run/output.ts';
import type { ListedQueue } from '../../src/queue/inspect/list-queues.ts';
import type { ListedType } from '../../src/queue/inspect/list-types.ts';
import type { ListedWorker } from '../../src/queue/inspect/list-workers.ts';
import type { TaskRow } from '../../src/queue/inspect/task-row.ts';

interface Row {
  readonly id: number;
  readonly text: string;
}

const AT = '2030-01-01T00:00:00Z';
const LATER = '2030-01-01T01:00:00Z';
const LONG = '日本語-a-name-that-is-rather-long';
const TASK: TaskRow = {
  ...{
    id: '1234567890',
    type: LONG,
    queue: LONG,
    status: 'completed',
    priority: 2,
    attempts: 3,
    reason: LONG,
  },
  ...{ payload: { text: LONG }, error: { name: 'Error', message: LONG }, created_at: AT, finished_at: AT },
  applies: {
    max_attempts: { value: 'unlimited', from: 'task' },
    timeout_ms: { value: null, from: 'defaults' },
    backoff: { value: {}, from: 'defaults' },
    retention: { value: '7d', from: 'defaults' },
  },
};
const QUEUE: ListedQueue = {
  ...{ name: LONG, paused_at: AT, paused_until: null, paused_by: LONG, pause_reason: LONG, max_attempts: 20 },
  ...{ timeout_ms: 1000, expires_ms: 1000, backoff: { kind: 'fixed', base_ms: 1 }, retention: '365d' },
  ...{ errors_retention: '365d', dead_retention: '365d', waiting: 1_000_000, at_least: true, sources: {} },
  ...{
    group_limit: 100,
    group_rate: '1000/1s',
    group_burst: 100,
    group_order: 'relaxed',
    group_on_dead: 'go-on',
    group_by: 'type',
  },
  ...{ max_running: 100, rate: '1000/1h', burst: 100, may_enqueue: [LONG, 'mail'] },
  ...{ max_losses: 2_147_483_647, on_failure: 'complete', record_leases: true, record_events: true },
};
const TYPE: ListedType = {
  ...{
    name: LONG,
    max_attempts: 20,
    timeout_ms: 1000,
    expires_ms: 1000,
    backoff: { kind: 'fixed', base_ms: 1 },
    retention: '365d',
    queue: LONG,
    priority: 2,
    breaker: { failures: 5, within_ms: 60_000, probe_after_ms: 30_000 },
    breaker_opened_at: AT,
    breaker_probe_at: AT,
    breaker_probe_id: null,
    keep_log: 'always',
    on_failure: 'complete',
    on_complete: { type: LONG },
    on_dead: { type: LONG },
  },
  ...{
    first_seen_at: AT,
    last_seen_at: AT,
    workers: [LONG],
    waiting: 1_000_000,
    at_least: true,
    sources: {},
  },
};
const WORKER: ListedWorker = {
  ...{
    id: '1406218731',
    name: LONG,
    given_name: LONG,
    host: LONG,
    pid: 1,
    version: '1.2.3',
    status: 'paused',
  },
  ...{
    started_at: AT,
    heartbeat_at: AT,
    stopped_at: null,
    paused_at: AT,
    paused_by: LONG,
    running: 10,
    ahead: 10,
    timed_out: 0,
  },
  ...{ stop_requested_at: null, stop_requested_by: null, concurrency: 10, poll_ms: 1000, lease_ms: 30_000 },
  ...{ wanted_lease_ms: null, batch: 'auto' },
  ...{ queues: [LONG], types: [LONG] },
};

const columns: Column<Row>[] = [
  { title: 'ID', cell: ({ id }) => String(id), align: 'right' },
  { title: 'TEXT', cell: ({ text }) => text, shrinksTo: 6 },
  { title: 'END', cell: () => 'x' },
];
const rows: Row[] = [
  { id: 1, text: '日本語テキスト' },
  { id: 1234, text: 'short' },
  { id: 5, text: 'two\nlines\u001b[2J' },
];
const paint = pc.createColors(false);
const leftOut = () => {};

test('columns are aligned by what is seen, and nothing is cut where there is no terminal', () => {
  expect(formatTable(columns, rows, { paint, columns: null, leftOut })).toBe(
    [
      '  ID  TEXT                END',
      '   1  日本語テキスト      x',
      '1234  short               x',
      '   5  two lines\\u001b[2J  x',
    ].join('\n'),
  );
});

test('on a terminal the widest column that may gives way', () => {
  expect(formatTable(columns, rows, { paint, columns: 20, leftOut })).toBe(
    ['  ID  TEXT       END', '   1  日本語テ…  x', '1234  short      x', '   5  two line…  x'].join('\n'),
  );
});

describe.each([
  ['tasks', (screen: Screen) => formatTaskList([TASK], screen)],
  ['dead letters', (screen: Screen) => formatDeadList([TASK], screen)],
  ['queues', (screen: Screen) => formatQueues([QUEUE], screen)],
  ['types', (screen: Screen) => formatTypes([TYPE], screen)],
  ['workers', (screen: Screen) => formatWorkers([WORKER], screen)],
])('the table of %s', (_, format) => {
  const at = (width: number) => {
    const missing: string[] = [];
    const leave = (titles: readonly string[]) => void missing.push(...titles);
    const text = format({ paint, columns: width, now: Date.parse(LATER), leftOut: leave });
    return { lines: text.split('\n'), missing };
  };

  test('never wraps, however narrow the terminal', () => {
    for (let width = 8; width <= 240; width++)
      expect(at(width).lines.filter((line) => stringWidth(line) > width)).toEqual([]);
  });

  test('has every column in a wide one, and says in 60 columns which had no room', () => {
    expect(at(400).missing).toEqual([]);
    const titles = at(400).lines[0]!.trim().split(/ {2,}/);
    const { lines, missing } = at(60);
    const shown = lines[0]!.trim().split(/ +(?=[A-Z])/);
    expect(missing.length).toBeGreaterThan(0);
    expect(titles.filter((title) => !missing.includes(title)).join(' ')).toBe(shown.join(' '));
  });

  test('loses no column again that a narrower one had', () => {
    let narrower = at(40).missing;
    for (let width = 41; width <= 240; width++) {
      const { missing } = at(width);
      expect(missing.filter((title) => !narrower.includes(title))).toEqual([]);
      narrower = missing;
    }
  });
});

test('columns without a value leave first, without a word, so that one with a value has room', () => {
  const bare = {
    ...{
      ...TYPE,
      name: 'send-email',
      workers: ['mail-1:4711:5f0c2ab9'],
      keep_log: 'always',
      on_failure: null,
      on_complete: null,
      on_dead: null,
      breaker_opened_at: null,
      breaker: null,
    },
    ...{
      timeout_ms: null,
      expires_ms: null,
      retention: null,
      queue: null,
      priority: null,
      max_attempts: null,
    },
  };
  const missing: string[] = [];
  const leave = (titles: readonly string[]) => void missing.push(...titles);
  const text = formatTypes([bare], { paint, columns: 80, now: Date.parse(LATER), leftOut: leave });
  expect(text.split('\n')).toEqual([
    'TYPE            WAITING  HANDLED BY     BACK-OFF   LOG     FIRST SEEN  LAST SEEN',
    'send-email  ≥ 1,000,000  mail-1:4711:…  fixed 1ms  always  1h ago      now',
  ]);
  expect(missing).toEqual([]);
});

test('the status of a worker is whole in 80 columns, whatever leaves for it', () => {
  const stopping = {
    ...WORKER,
    ...{ status: 'stopping' as const, stop_requested_at: AT, stop_requested_by: 'postgres (ann)' },
  };
  const missing: string[] = [];
  const leave = (titles: readonly string[]) => void missing.push(...titles);
  const text = formatWorkers([stopping], { paint, columns: 80, now: Date.parse(LATER), leftOut: leave });
  expect(text).toMatch(/stopping, asked .* by postgres \(ann\)/);
  expect(missing).toContain('VERSION');
});

test('colours do not move what they colour', () => {
  const red = columns.map((column) => ({ ...column, paint: pc.createColors(true).red }));
  const painted = formatTable(red, rows, { paint: pc.createColors(true), columns: 20, leftOut });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
  expect(painted.replaceAll(/\u001b\[\d+m/g, '').replaceAll(/ +$/gm, '')).toBe(
    formatTable(columns, rows, { paint, columns: 20, leftOut }),
  );
});

test('what stats says below its tables is broken at blanks', () => {
  const counts = { blocked: 0, pending: 0, leased: 0, running: 0, dead: 0 };
  const ended = { completed: 3, cancelled: 0, expired: 0 };
  const stats = {
    queues: [
      {
        queue: 'default',
        counts,
        due: 2,
        oldest_waiting_ms: 27_000,
        retrying: 0,
        ended,
        paused: false,
        limited_by: null,
      },
    ],
    types: [{ type: 'report', live: 0, due: 2, dead: 0, ...ended, average_ms: 5, handled: true }],
    ...{ due: 2, depth: 0, oldest_waiting_ms: 27_000, completed: 3, completed_per_minute: 3, workers: 1 },
    ...{ stalled: [{ queue: 'default', type: 'report', due: 2, reason: 'queue_paused', worker: null }] },
    unhandled_types: [],
  } as unknown as Parameters<typeof formatStats>[0];
  const screen = { paint, now: 0, leftOut };
  const summary = formatStats(stats, 86_400_000, { ...screen, columns: 80 }).split('\n\n')[2]!;
  expect(summary.split('\n')).toEqual([
    '2 tasks due, 0 of them can run, the oldest for 27s; 3 completed in the last 1d',
    '  (3 a minute since the first of them started); 1 worker',
    'queue default is paused: 2 tasks due',
    'COMPLETED, CANCELLED, EXPIRED and AVERAGE (run time): of the last 1d (--since);',
    '  - is no value',
  ]);
  const whole = formatStats(stats, 86_400_000, { ...screen, columns: null }).split('\n\n')[2]!;
  expect(whole.split('\n').length).toBe(3);
});

test('a cause is broken at blanks, beside its name', () => {
  const causes = [{ cause: 'suspect', losses: 2, alone: true }, { cause: 'no_worker' }];
  const explanation = {
    id: '7',
    queue: 'default',
    type: 'send',
    status: 'pending',
    may_start_at: null,
    causes,
  };
  const shown = formatExplanation(explanation as unknown as Parameters<typeof formatExplanation>[0], {
    ...{ paint, columns: 72, now: 0, leftOut },
  });
  expect(shown.split('\n').slice(1)).toEqual([
    '  suspect    its handler did not report its end 2 times: it runs in a',
    '             process of its own, and is claimed alone',
    '  no_worker  no worker is running',
  ]);
});

test('the columns that stats leaves out are named with their table', () => {
  const counts = { blocked: 0, pending: 0, leased: 0, running: 0, dead: 0 };
  const ended = { completed: 1, cancelled: 0, expired: 0 };
  const stats = {
    queues: [
      {
        queue: 'default',
        counts,
        due: 0,
        oldest_waiting_ms: null,
        retrying: 0,
        ended,
        paused: false,
        limited_by: null,
      },
    ],
    types: [{ type: 'report', live: 0, due: 0, dead: 0, ...ended, average_ms: 5, handled: true }],
    ...{ due: 0, depth: 0, oldest_waiting_ms: null, completed: 1, completed_per_minute: 1, workers: 1 },
    ...{ stalled: [], unhandled_types: [] },
  } as unknown as Parameters<typeof formatStats>[0];
  const missing: string[] = [];
  const leave = (titles: readonly string[]) => void missing.push(...titles);
  formatStats(stats, 1000, { paint, columns: 70, now: 0, leftOut: leave });
  expect(missing).toContain('EXPIRED (queues)');
  expect(missing).not.toContain('EXPIRED');
});
