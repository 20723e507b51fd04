import { OPERATION_STATES, OPERATION_VERBS } from '../domain/operation.ts';
import { TASK_STATUSES } from '../domain/task.ts';
import { ON_DEATH, WORKFLOW_STATES } from '../domain/workflow/state.ts';
import { ROLES } from './caller.ts';
import {
  ANY,
  DURATION,
  FLAG,
  listOf,
  MEMBERS,
  MEMBERS_OR_NULL,
  NUMBER,
  NUMBER_OR_NULL,
  record,
  ref,
  type Schema,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  WHOLE,
  WHOLE_OR_NULL,
} from './schema.ts';

/** The id of a task or a workflow. */
export const ID: Schema = { type: 'string', pattern: '^[1-9][0-9]{0,18}$' };
const STATUS: Schema = { type: 'string', enum: TASK_STATUSES };
export const TEXTS_OR_NULL: Schema = { type: ['array', 'null'], items: TEXT };

const ATTEMPTS = counts('succeeded', 'failed', 'snoozed', 'lost');
const PERCENTILES: Schema = { ...record({ p50: NUMBER, p95: NUMBER }), type: ['object', 'null'] };

const TASK = {
  ...{
    id: ID,
    type: TEXT,
    queue: TEXT,
    status: STATUS,
    priority: WHOLE,
    payload: ANY,
    tags: MEMBERS_OR_NULL,
  },
  ...{ key: TEXT_OR_NULL, group: TEXT_OR_NULL, workflow: MEMBERS_OR_NULL, waitsFor: TEXT_OR_NULL },
  ...{ attempts: WHOLE, maxAttempts: WHOLE_OR_NULL, applies: MEMBERS },
  ...{ createdAt: TIME, notBefore: TIME, availableAt: TIME_OR_NULL, expiresAt: TIME_OR_NULL },
  ...{ startedAt: TIME_OR_NULL, timesOutAt: TIME_OR_NULL, finishedAt: TIME_OR_NULL, updatedAt: TIME },
  ...{ result: ANY, resultNote: MEMBERS_OR_NULL, error: MEMBERS_OR_NULL, reason: TEXT_OR_NULL },
  ...{ progress: MEMBERS_OR_NULL, leaseOwner: TEXT_OR_NULL, traceparent: TEXT_OR_NULL },
  ...{ again: MEMBERS_OR_NULL },
};

const WORKFLOW = {
  ...{ id: ID, name: TEXT, state: { type: 'string', enum: WORKFLOW_STATES }, deaths: WHOLE, isOpen: FLAG },
  ...{ liveSteps: WHOLE, waitingSteps: WHOLE, failFast: FLAG, maxDead: WHOLE_OR_NULL },
  ...{ onEnd: MEMBERS_OR_NULL, onFailing: MEMBERS_OR_NULL, onStep: MEMBERS_OR_NULL },
  ...{ createdAt: TIME, createdBy: TEXT, failingAt: TIME_OR_NULL, endedAt: TIME_OR_NULL },
  ...{ cancelRequestedAt: TIME_OR_NULL, cancelReason: TEXT_OR_NULL, keptUntil: TEXT_OR_NULL },
};

/** The shapes of answers and of their parts, by the name that `ref` takes. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Task: record(TASK),
  TaskDetails: record({ ...TASK, errors: listOf(MEMBERS), logs: listOf(MEMBERS), actions: listOf(MEMBERS) }),
  TaskEnd: record({ id: ID, type: TEXT, status: STATUS }),
  Explanation: record({
    ...{ id: ID, queue: TEXT, type: TEXT, status: STATUS, mayStartAt: TIME_OR_NULL },
    causes: listOf({ ...MEMBERS, properties: { cause: TEXT }, required: ['cause'] }),
  }),
  Enqueued: record({
    id: ID,
    created: FLAG,
    answer: { type: 'string', enum: ['created', 'held', 'replaced', 'again', 'key_of_another'] },
    nextId: { type: ['string', 'null'] },
  }),
  Queue: record({
    ...{ name: TEXT, pausedAt: TIME_OR_NULL, pausedUntil: TIME_OR_NULL, pausedBy: TEXT_OR_NULL },
    ...{ pauseReason: TEXT_OR_NULL, maxAttempts: WHOLE_OR_NULL, timeoutMs: WHOLE_OR_NULL },
    ...{
      expiresMs: WHOLE_OR_NULL,
      backoff: MEMBERS_OR_NULL,
      retention: TEXT_OR_NULL,
      maxRunning: WHOLE_OR_NULL,
    },
    ...{ rate: TEXT_OR_NULL, burst: WHOLE_OR_NULL, groupLimit: WHOLE_OR_NULL, mayEnqueue: TEXTS_OR_NULL },
    ...{ sources: MEMBERS, waiting: WHOLE, atLeast: FLAG },
  }),
  Limits: record({
    ...{ queue: TEXT, maxRunning: WHOLE_OR_NULL, rate: TEXT_OR_NULL, burst: WHOLE_OR_NULL },
    ...{ groupLimit: WHOLE_OR_NULL, groupRate: TEXT_OR_NULL, groupBurst: WHOLE_OR_NULL },
  }),
  Group: record({
    ...{
      name: TEXT,
      groupLimit: WHOLE_OR_NULL,
      slots: WHOLE_OR_NULL,
      rate: TEXT_OR_NULL,
      burst: WHOLE_OR_NULL,
    },
    ...{ holding: WHOLE, waiting: WHOLE, delayed: WHOLE, stops: listOf(MEMBERS) },
    ...{ pausedAt: TIME_OR_NULL, pausedBy: TEXT_OR_NULL, pauseReason: TEXT_OR_NULL },
  }),
  Type: record({
    ...{ name: TEXT, maxAttempts: WHOLE_OR_NULL, timeoutMs: WHOLE_OR_NULL, expiresMs: WHOLE_OR_NULL },
    ...{ backoff: MEMBERS_OR_NULL, retention: TEXT_OR_NULL, queue: TEXT_OR_NULL, priority: WHOLE_OR_NULL },
    ...{
      breaker: MEMBERS_OR_NULL,
      breakerOpenedAt: TIME_OR_NULL,
      firstSeenAt: TIME,
      lastSeenAt: TIME_OR_NULL,
    },
    ...{ workers: listOf(TEXT), sources: MEMBERS, waiting: WHOLE, atLeast: FLAG },
  }),
  Worker: record({
    ...{ id: TEXT, name: TEXT, givenName: TEXT_OR_NULL, host: TEXT, pid: WHOLE, version: TEXT_OR_NULL },
    status: { type: 'string', enum: ['live', 'paused', 'stopping', 'silent', 'lost', 'stopped'] },
    ...{ startedAt: TIME, heartbeatAt: TIME, stoppedAt: TIME_OR_NULL, pausedAt: TIME_OR_NULL },
    ...{ concurrency: WHOLE, running: WHOLE, ahead: WHOLE, pollMs: WHOLE_OR_NULL, leaseMs: WHOLE },
    ...{ batch: { type: ['string', 'integer'] }, queues: TEXTS_OR_NULL, types: listOf(TEXT) },
  }),
  Defaults: { type: 'object', additionalProperties: MEMBERS },
  Schedule: record({
    ...{ name: TEXT, expression: TEXT, tz: TEXT, type: TEXT, payload: ANY, taskOptions: MEMBERS },
    ...{ missed: TEXT, overlap: { type: 'string', enum: ['allow', 'skip', 'replace'] }, jitterMs: WHOLE },
    ...{ nextAt: TEXT_OR_NULL, pausedAt: TIME_OR_NULL, pausedBy: TEXT_OR_NULL, pauseReason: TEXT_OR_NULL },
    ...{
      lastTick: TIME_OR_NULL,
      lastTaskId: TEXT_OR_NULL,
      lastStatus: TEXT_OR_NULL,
      lastError: TEXT_OR_NULL,
    },
  }),
  Workflow: record(WORKFLOW),
  WorkflowDetails: record({
    ...WORKFLOW,
    steps: listOf(
      record({
        ...{ step: TEXT, taskId: ID, type: TEXT, queue: TEXT, status: TEXT, waits: FLAG, attempts: WHOLE },
        ...{ startedAt: TIME_OR_NULL, endedAt: TIME_OR_NULL, dueAt: TIME_OR_NULL, reason: TEXT_OR_NULL },
        ...{ cancelledBy: TEXT_OR_NULL, parents: listOf(MEMBERS) },
      }),
    ),
  }),
  Operation: record({
    ...{ id: ID, verb: { type: 'string', enum: OPERATION_VERBS }, filter: MEMBERS, settings: MEMBERS },
    ...{ by: TEXT_OR_NULL, role: TEXT, via: TEXT_OR_NULL, reason: TEXT_OR_NULL },
    state: { type: 'string', enum: OPERATION_STATES },
    ...{
      matched: WHOLE,
      atLeast: FLAG,
      done: WHOLE,
      skipped: WHOLE,
      failed: WHOLE,
      deadAgain: WHOLE_OR_NULL,
      notEnded: WHOLE_OR_NULL,
      waitsFor: TEXTS_OR_NULL,
    },
    failures: listOf(record({ id: ID, answer: TEXT, error: TEXT_OR_NULL })),
    ...{ createdAt: TIME, endedAt: TIME_OR_NULL, stoppedBecause: TEXT_OR_NULL, trouble: TEXT_OR_NULL },
    ...{ rate: TEXT_OR_NULL, canary: WHOLE_OR_NULL, stopAt: TEXT_OR_NULL },
  }),
  Event: record({
    ...{ position: TEXT, at: TIME, id: ID, queue: TEXT, type: TEXT, status: STATUS, reason: TEXT_OR_NULL },
    ...{
      attempts: WHOLE,
      key: TEXT_OR_NULL,
      group: TEXT_OR_NULL,
      workflow: MEMBERS_OR_NULL,
      tags: MEMBERS_OR_NULL,
    },
  }),
  Stats: record({
    ...{ sampledAt: TIME_OR_NULL, ageMs: NUMBER_OR_NULL, boundsMs: listOf(NUMBER) },
    pairs: listOf(
      record({
        ...{ queue: TEXT, type: TEXT, counts: counts('blocked', 'pending', 'leased', 'running', 'dead') },
        ...{ due: WHOLE, oldestAt: TIME_OR_NULL, created: WHOLE, revived: WHOLE },
        ended: counts('completed', 'cancelled', 'expired', 'dead'),
        attempts: ATTEMPTS,
        ...{ waits: listOf(WHOLE), runs: listOf(WHOLE), waitMs: WHOLE, runMs: WHOLE },
      }),
    ),
    deadGroups: { ...WHOLE_OR_NULL, description: 'null for a caller for some queues' },
    unhandledTypes: listOf(TEXT),
    workers: {
      ...record({
        ...{ live: WHOLE, paused: WHOLE, stopping: WHOLE, silent: WHOLE, slots: WHOLE, busy: WHOLE },
        heartbeatDelayMs: NUMBER_OR_NULL,
      }),
      type: ['object', 'null'],
      description: 'null for a caller for some queues',
    },
  }),
  Series: record({
    ...{ from: TIME, until: TIME, stepMs: WHOLE },
    points: listOf(
      record({
        ...{ at: TIME, created: WHOLE, revived: WHOLE, completed: WHOLE, cancelled: WHOLE, expired: WHOLE },
        ...{ dead: WHOLE, attempts: ATTEMPTS, waitMs: PERCENTILES, runMs: PERCENTILES },
      }),
    ),
  }),
  DeadGroup: record({
    ...{ fingerprint: TEXT, count: WHOLE, firstAt: TIME, lastAt: TIME, lastHour: WHOLE, hourBefore: WHOLE },
    trend: { ...listOf(WHOLE), description: 'deaths in each of the last 24 hours, the earliest first' },
    ...{ type: TEXT, errorName: TEXT_OR_NULL, message: TEXT_OR_NULL, reason: TEXT, lastId: ID },
  }),
  Action: record({
    ...{ id: TEXT, at: TIME, verb: TEXT, role: TEXT, by: TEXT_OR_NULL, via: TEXT_OR_NULL },
    ...{ taskIds: TEXTS_OR_NULL, queue: TEXT_OR_NULL, worker: TEXT_OR_NULL, type: TEXT_OR_NULL },
    ...{ filter: MEMBERS_OR_NULL, before: MEMBERS_OR_NULL, settings: MEMBERS_OR_NULL, reason: TEXT_OR_NULL },
  }),
  Token: record({
    ...{ name: TEXT, role: { type: 'string', enum: ROLES }, queues: TEXTS_OR_NULL },
    ...{ createdAt: TIME, createdBy: TEXT, expiresAt: TIME_OR_NULL, lastUsedAt: TIME_OR_NULL },
  }),
  Problem: {
    ...record({ status: WHOLE, code: TEXT }),
    properties: {
      ...{ status: WHOLE, code: TEXT, detail: TEXT, hint: TEXT, nearest: listOf(TEXT), state: TEXT_OR_NULL },
      errors: listOf(record({ pointer: TEXT, detail: TEXT })),
    },
  },
};

/** What an enqueue takes besides a type and a payload. */
/** A type, or an object with a type. */
export const CALLBACK: Schema = { type: ['string', 'object'] };

export const ENQUEUE_OPTIONS: Readonly<Record<string, Schema>> = {
  ...{ queue: TEXT, priority: { type: ['integer', 'string'] }, delay: DURATION, at: TEXT },
  ...{ maxAttempts: { type: ['integer', 'string'] }, timeout: DURATION, expires: DURATION },
  ...{
    group: TEXT,
    key: TEXT,
    keyFor: DURATION,
    onHeld: { type: 'string', enum: ['ignore', 'replace', 'preserve'] },
  },
  ...{
    tags: { type: 'object', additionalProperties: TEXT },
    retention: TEXT,
    backoff: MEMBERS,
    traceparent: TEXT,
  },
  ...{ onComplete: CALLBACK, onDead: CALLBACK },
};

/** A task to enqueue, which may be a step. */
export const NEW_TASK: Readonly<Record<string, Schema>> = {
  ...{ type: TEXT, payload: ANY, ...ENQUEUE_OPTIONS },
  step: TEXT,
  after: { type: 'array', items: { type: ['string', 'object'] } },
  onDeath: { type: 'string', enum: ON_DEATH },
};

export const ALLOW_UNKNOWN = {
  allowUnknown: { type: 'string', enum: ['true'], description: 'accept types that no worker has registered' },
} as const;

/** A page of a list: `after` begins the next one. */
export function pageOf(name: string, items: string, others: Readonly<Record<string, Schema>> = {}): Schema {
  return record({ [name]: listOf(ref(items)), after: TEXT_OR_NULL, ...others });
}

function counts(...names: readonly string[]): Schema {
  return record(Object.fromEntries(names.map((name) => [name, WHOLE])));
}
