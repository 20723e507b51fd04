import pg from 'pg';
import type { TaskContext } from '../../dist/index.js';
import { migrate } from '../../dist/queue/schema/migrate.js';
import { withClient } from '../lib/client.ts';
import type { HandlerKind, Run } from '../lib/handlers.ts';
import type { Payload } from '../lib/payload.ts';
import { createWorker, dbFunctionHandler, TaskQueue } from '../lib/product.ts';
import type { Peer, Producer, StoreAddress, Working, WorkOrder } from './peer.ts';

/** The type of every task of the bench. */
export const TYPE = 'bench';

/** The number of slots in graphile-worker's own benchmark. */
const BEST_CONCURRENCY = 24;

export const taskq: Peer = {
  store: 'postgres',
  install: (address) => migrate({ databaseUrl: address }).then(() => {}),
  addStatement: `select id from taskq.enqueue('${TYPE}', $1, '{"allow_unknown": ["${TYPE}"]}')`,
  openProducer,
  countLeft: (address) =>
    withClient(address, async (client) => {
      const { rows } = await client.query<{ left: string }>('select count(*) as left from taskq.tasks');
      return Number(rows[0]!.left);
    }),
  prepare,
};

async function openProducer(address: StoreAddress, connections: number): Promise<Producer> {
  const pool = new pg.Pool({ connectionString: address, max: connections, idleTimeoutMillis: 0 });
  const queue = new TaskQueue({ pool });
  return {
    add: (payload) => queue.enqueue(TYPE, payload, { allowUnknown: true }),
    addMany: (payloads) =>
      queue.enqueueMany(
        payloads.map((payload) => ({ type: TYPE, payload })),
        { allowUnknown: true },
      ),
    async close() {
      await queue.close();
      await pool.end();
    },
  };
}

interface Context {
  readonly attempt: number;
  readonly log: Pick<TaskContext['log'], 'info'>;
  enqueue(type: string, payload: Payload): Promise<unknown>;
}

/** The worker that an application runs; `taskq work` is the same behind a command. */
async function prepare(order: WorkOrder, run: Run): Promise<() => Promise<Working>> {
  const logs = order.handler.kind === 'log';
  const handler = {
    ...(!order.history && { retention: 'none' }),
    ...(order.handler.kind === 'flaky' && { backoff: { kind: 'fixed', base: '5s', jitter: 0 } as const }),
    run: (payload: Payload, ctx: Context) => {
      if (logs) ctx.log.info('done', { n: payload.n });
      if (payload.follow === undefined) return run(payload, ctx.attempt);
      return ctx.enqueue(TYPE, { n: payload.n }).then(() => run(payload, ctx.attempt));
    },
  };
  return async () => {
    const worker = createWorker({
      databaseUrl: order.address,
      handlers: { [TYPE]: order.handler.kind === 'function' ? calling(order.handler, run) : handler },
      concurrency: concurrencyOf(order),
      ...(order.batch !== undefined && { batch: order.batch }),
      ...(order.claim !== undefined && { claim: order.claim }),
      onEvent: (event) => {
        if (event.level === 'error') console.error('taskq:', event);
      },
    });
    await worker.start();
    return { stop: () => worker.stop() };
  };
}

/** The handler of `db_function` tasks, counted. */
function calling({ atomic }: HandlerKind & { readonly kind: 'function' }, run: Run) {
  const handler = dbFunctionHandler({ atomic });
  const counted = async (payload: Payload & { readonly db_function: string }, ctx: TaskContext) => {
    const answer = await handler.run({ ...payload }, ctx);
    run(payload, ctx.attempt);
    return answer;
  };
  // With its marks: the worker treats it as the handler that it counts.
  Object.defineProperties(counted, symbolsOf(handler.run));
  return { ...handler, run: counted };
}

function concurrencyOf({ concurrency, tuning }: WorkOrder): number {
  return concurrency ?? (tuning === 'best' ? BEST_CONCURRENCY : 8);
}

function symbolsOf(counted: object): PropertyDescriptorMap {
  return Object.fromEntries(
    Object.getOwnPropertySymbols(counted).map((symbol) => [
      symbol,
      Object.getOwnPropertyDescriptor(counted, symbol)!,
    ]),
  );
}
