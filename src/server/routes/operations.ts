import {
  OPERATION_STATES,
  OPERATION_VERBS,
  type OperationState,
  type OperationVerb,
} from '../../domain/operation.ts';
import { exactPayload } from '../../domain/payload.ts';
import { checkedOperationId } from '../../domain/task-id.ts';
import { newOperationOf, type OperationFilter } from '../../library/new-operation.ts';
import { operationOf } from '../../library/operation-records.ts';
import { type ListedOperation, listOperations, showOperation } from '../../queue/inspect/list-operations.ts';
import { startedId, startOperation, stopOperation } from '../../queue/operate/operations.ts';
import { AFTER, answers200, LIMIT, limitOf, wrongState } from '../answers.ts';
import { type Caller, maySee } from '../caller.ts';
import { badRequest, notFound, Problem } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { ANY, DURATION, FLAG, input, listOf, MEMBERS, record, ref, TEXT, WHOLE } from '../schema.ts';
import { ID, pageOf } from '../schemas.ts';
import { CHANGES, changesOf } from './task-verbs.ts';
import { FILTERS, filterOf } from './tasks.ts';

const FILTER = input({
  ...Object.fromEntries(
    Object.entries(FILTERS).map(([name, { description, isList }]) => [
      name,
      isList
        ? { description, anyOf: [TEXT, listOf(TEXT)] }
        : { description, type: ['string', 'boolean', 'integer'] },
    ]),
  ),
  payload: {
    type: 'object',
    additionalProperties: { type: ['string', 'boolean', 'number'] },
    description: '`{"order.id": "42"}`: only tasks whose payload has this value there, or all of these',
  },
  failed: { enum: [true, 'true'], description: FILTERS.failed!.description },
  fingerprint: {
    ...TEXT,
    description: 'only dead letters of this group, by the first digits of its fingerprint',
  },
  byHand: {
    ...FLAG,
    description: 'only dead letters added by hand, or only the others; the default is `false`',
  },
  ids: { ...listOf(ID), maxItems: 10_000, description: 'named tasks, without any other filter' },
});

const start: Route = {
  method: 'POST',
  path: '/operations',
  role: 'operator',
  summary:
    'Start a verb on all tasks that match, or named ones. Workers continue it even if the client disconnects. `filter` takes the parameters of `GET tasks`; an empty one needs `expect` or `dryRun`. `changes` are those of an edit, `patch` is a JSON merge patch of each payload.',
  body: input(
    {
      ...{ verb: { type: 'string', enum: OPERATION_VERBS }, filter: FILTER, dryRun: FLAG },
      expect: { ...WHOLE, description: 'start only if that many tasks match' },
      rate: { ...TEXT, description: 'at most n tasks in a time, such as `50/1m`' },
      canary: {
        ...WHOLE,
        description: 'of a revive: how many to revive first; the others follow when these have ended',
      },
      stopAt: { ...TEXT, description: 'of a revive: stop when more of them died again, such as `20%`' },
      ...{
        changes: CHANGES,
        patch: MEMBERS,
        payload: ANY,
        delay: DURATION,
        maxAttempts: { type: ['integer', 'string'] },
      },
    },
    ['verb', 'filter'],
  ),
  answers: {
    200: {
      description: 'What a dry run has counted: `ids` are the first ten; `atLeast`: there may be more',
      schema: record({ matched: WHOLE, atLeast: FLAG, ids: listOf(ID) }),
    },
    202: { description: 'It was started', schema: ref('Operation') },
  },
  async handle(call) {
    const { db, caller } = call;
    const operation = newOperationOf(givenOf(call));
    if (caller.queues != null) refuseOtherQueues(caller, operation.filter);
    const started = await startOperation(db, operation);
    if (started.answer === 'dry_run') {
      const { matched, at_least: atLeast, ids } = started;
      return ok({ matched, atLeast, ids });
    }
    const id = startedId(started, operation.expect);
    call.advancing.begin();
    return { status: 202, body: operationOf((await showOperation(db, id))!) };
  },
};

const list: Route = {
  method: 'GET',
  path: '/operations',
  role: 'viewer',
  mayTakeLong: true,
  summary:
    'List the operations, newest first. A page may have fewer than `limit` for a caller for some queues.',
  query: {
    state: { type: 'string', enum: OPERATION_STATES, description: 'only those in this state' },
    limit: LIMIT,
    after: AFTER,
  },
  answers: answers200('A page', pageOf('operations', 'Operation')),
  async handle({ query, db, caller }) {
    const limit = limitOf(query);
    const after = query.after === undefined ? null : checkedOperationId(query.after, 'after');
    const found = await listOperations(db, {
      limit,
      after,
      state: query.state as OperationState | undefined,
    });
    const operations = found.filter(({ filter }) => maySeeAll(caller, filter)).map(operationOf);
    return ok({ operations, after: found.length < limit ? null : found.at(-1)!.id });
  },
};

const show: Route = {
  method: 'GET',
  path: '/operations/{id}',
  role: 'viewer',
  summary: 'Show an operation: how far it is, and what failed.',
  answers: answers200('The operation', ref('Operation')),
  async handle(call) {
    return ok(operationOf(await visibleOperation(call)));
  },
};

const stop: Route = {
  method: 'POST',
  path: '/operations/{id}/stop',
  role: 'operator',
  summary: 'Stop an operation; what it has done stays done.',
  body: input({}),
  answers: answers200('The operation', ref('Operation')),
  async handle(call) {
    const { id } = await visibleOperation(call);
    const { answer, state } = await stopOperation(call.db, id, call.acting);
    if (answer !== 'stopped') throw wrongState('the operation', String(state));
    return ok(operationOf(await visibleOperation(call)));
  },
};

function givenOf({ body, acting, caller }: Call) {
  const { payload, patch, changes, filter, ...others } = body;
  return {
    ...(others as { readonly verb: OperationVerb }),
    ...acting,
    filter: filterOfBody(filter as BodyFilter),
    changes: changes === undefined ? undefined : changesOf(changes as Call['body'], caller),
    payload: payload === undefined ? undefined : exactPayload('the task', payload),
    patch: patch === undefined ? undefined : exactPayload('the patch', patch),
  };
}

interface BodyFilter extends Readonly<Record<string, unknown>> {
  readonly ids?: readonly string[];
  readonly byHand?: boolean;
  readonly payload?: NonNullable<OperationFilter['payload']>;
}

/** Reads a filter in which lists may also be one text, and numbers text, as in an URL. */
function filterOfBody({ ids, byHand, payload, status, tag, ...others }: BodyFilter): OperationFilter {
  const lists = Object.entries({ status, tag }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat() as string[]] as const],
  );
  const query = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)]));
  return {
    ...filterOf(query, Object.fromEntries(lists)),
    ...(byHand !== undefined && { byHand }),
    ...(payload !== undefined && {
      payload: Object.fromEntries(Object.entries(payload).map(([path, value]) => [path, String(value)])),
    }),
    ...(ids !== undefined && { ids }),
  };
}

/** Throws Problem unless all tasks of a filter are of a queue that the caller may change. */
function refuseOtherQueues(caller: Caller, filter: object): void {
  if (maySeeAll(caller, filter)) return;
  if (!('queue' in filter))
    throw badRequest('bad_option', [
      { pointer: '/filter/queue', detail: 'the token is for some queues: name one' },
    ]);
  throw new Problem('other_queue', { detail: 'the token is for other queues' });
}

function maySeeAll(caller: Caller, filter: { readonly queue?: unknown }): boolean {
  return caller.queues == null || (typeof filter.queue === 'string' && maySee(caller, filter.queue));
}

/** The operation of a path. Throws Problem. */
async function visibleOperation({ path, db, caller }: Call): Promise<ListedOperation> {
  const operation = await showOperation(db, checkedOperationId(path.id));
  if (operation === undefined || !maySeeAll(caller, operation.filter)) throw notFound('such operation');
  return operation;
}

export const OPERATIONS: readonly Route[] = [start, list, show, stop];
