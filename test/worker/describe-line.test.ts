import { expect, test } from 'vitest';
import { describeLine } from '../../src/worker/log/describe-line.ts';
import { fitted } from '../../src/worker/log/log.ts';

test('a handler sees every field it logged, also 0, false, null and empty ones', () => {
  const fields = { seconds: 0, isLast: false, page: null, rows: [], note: '' };
  const line = { event: 'task.log', msg: 'done', task_id: '7', type: 'send', attempt: 1, fields };
  expect(describeLine(line)).toBe(
    'task.log  done, send 7, attempt 1, seconds 0, isLast false, page null, rows [], note ',
  );
});

test('an error in the fields is shown without its stack', () => {
  const error = {
    name: 'TypeError',
    message: 'no such table',
    stack: 'TypeError: …',
    code: null,
    cause: null,
  };
  const line = { event: 'task.log', msg: 'gone', task_id: '7', type: 'send', fields: { error, rows: 3 } };
  expect(describeLine(line)).toBe('task.log  gone, send 7, error TypeError: no such table, rows 3');
});

test('an event of a task is explained, unless its name says what happened', () => {
  const about = { task_id: '7', type: 'send' };
  const msg = 'the handler ignores its abort signal';
  expect(describeLine({ event: 'task.abandoned', msg, ...about, abandoned: 1 })).toBe(
    `task.abandoned  send 7, abandoned 1, ${msg}`,
  );
  expect(describeLine({ event: 'task.started', msg: 'an attempt starts', ...about, attempt: 1 })).toBe(
    'task.started  send 7, attempt 1',
  );
});

test('an event of a task whose type is not known names the task', () => {
  const msg = 'a handler blocked the event loop';
  expect(describeLine({ event: 'worker.unresponsive', msg, task_id: '7' })).toBe(
    `worker.unresponsive  task 7, ${msg}`,
  );
});

test('a field of an event that says nothing is left out', () => {
  const msg = 'tasks that ended since the last such line';
  expect(describeLine({ event: 'worker.progress', msg, completed: 3, failed: 0, left: {} })).toBe(
    `worker.progress  completed 3, ${msg}`,
  );
});

test('the names in a list stand apart from each other, so that a line can be broken between them', () => {
  const line = {
    event: 'worker.started',
    msg: 'the worker claims tasks',
    types: ['billing/charge', 'send-email'],
  };
  expect(describeLine(line)).toBe(
    'worker.started  types (billing/charge, send-email), the worker claims tasks',
  );
});

test('a worker that stops says for how long it waits for running tasks, and what ends them sooner', () => {
  const line = { event: 'worker.stopping', msg: 'it waits for running tasks', waiting: 0, grace_ms: 25_000 };
  expect(describeLine({ ...line, running: 2 })).toBe(
    'worker.stopping  running 2, it waits for running tasks, for up to 25s; a second Ctrl-C gives them back at once',
  );
  expect(describeLine({ ...line, running: 0 })).toBe('worker.stopping  it waits for running tasks');
});

test('a line wider than the terminal is broken at blanks, below its beginning', () => {
  const message =
    'task.failed  send-email 7, attempt 1: Error: no such host\n    at send (/srv/shop/handlers/send-email.ts:3:9)';
  const prefix = '[12:00:00] WARN: ';
  const shown = `${prefix}${fitted(message, prefix, 60)}`;
  expect(shown.split('\n')).toEqual([
    '[12:00:00] WARN: task.failed  send-email 7, attempt 1:',
    '    Error: no such host',
    '    at send (/srv/shop/handlers/send-email.ts:3:9)',
  ]);
  expect(fitted(message, prefix, 200)).toBe(message);
});

test('a line about a type says which, and one about a task says it once', () => {
  const opened = { event: 'breaker.opened', msg: 'it opens', type: 'send-email', failures: 3 };
  expect(describeLine(opened)).toBe('breaker.opened  type send-email, failures 3, it opens');
  expect(describeLine({ event: 'task.started', msg: '', type: 'send-email', task_id: '7' })).toBe(
    'task.started  send-email 7',
  );
});
