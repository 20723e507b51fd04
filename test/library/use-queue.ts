import pg from 'pg';
import { afterEach, beforeEach } from 'vitest';
import type { HandlerMap, UnknownHandlers } from '../../src/domain/handler-map.ts';
import { TaskQueue, type TaskQueueOptions } from '../../src/index.ts';
import { type QueueDatabase, type Session, useDatabase } from '../queue/session.ts';
import { knowTypes } from '../support/know-types.ts';

/** What the tests of the library have: a database, and queues on it that are closed after the test. */
export interface Library extends QueueDatabase {
  readonly admin: Session;
  /** Open a queue as an application does. */
  open<Handlers extends HandlerMap = UnknownHandlers>(
    options?: Partial<TaskQueueOptions<Handlers>>,
  ): TaskQueue<Handlers>;
}

/** Make a pool as an application has one. Its connections are ended by force after the test, and say nothing. */
export function openPool(databaseUrl: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Types that tests enqueue besides `work`. */
export const KNOWN = ['send-email', 'report'];

export function useLibrary(): Library {
  const database = useDatabase();
  const opened: { close(): Promise<void> }[] = [];
  beforeEach(() => knowTypes(database.admin.client, ...KNOWN));
  afterEach(async () => {
    for (const queue of opened.splice(0)) await queue.close();
  });
  return {
    get admin() {
      return database.admin;
    },
    get url() {
      return database.url;
    },
    get directUrl() {
      return database.directUrl;
    },
    session: () => database.session(),
    directSession: () => database.directSession(),
    open<Handlers extends HandlerMap = UnknownHandlers>(options: Partial<TaskQueueOptions<Handlers>> = {}) {
      const where = options.pool === undefined ? { databaseUrl: database.url } : {};
      const queue = new TaskQueue<Handlers>({ ...where, ...options } as TaskQueueOptions<Handlers>);
      opened.push(queue);
      return queue;
    },
  };
}
