import type { Command } from 'commander';
import type { Queryable } from '../../lib/database.ts';
import type { Context } from '../run/context.ts';

/** A completion of the word at the cursor. */
export interface Offer {
  readonly value: string;
  /** One line; may be empty. */
  readonly about: string;
}

/** A kind of names that the database stores. */
export type Known =
  | 'types'
  | 'queues'
  | 'workers'
  | 'dead letters'
  | 'schedules'
  | 'workflows'
  | 'operations';

/** Lists the names of one kind; empty where the database is absent or does not answer soon. */
export type NamesOf = (known: Known) => Promise<readonly Offer[]>;

/** The kind of names that an option or argument takes; undefined: it takes none from the database. */
export function knownBy(command: Command, name: string): Known | undefined {
  const group = command.parent?.name() ?? '';
  if (group === 'schedule' && command.name() !== 'add' && name.startsWith('name')) return 'schedules';
  if (group === 'workflow' && name === 'id') return 'workflows';
  if (group === 'operations' && name === 'id') return 'operations';
  if (group === 'dead' && (name === 'ids' || (name === 'id' && command.name() === 'show')))
    return 'dead letters';
  return BY_NAME[name];
}

const BY_NAME: Readonly<Record<string, Known>> = {
  type: 'types',
  types: 'types',
  queue: 'queues',
  toQueue: 'queues',
  queues: 'queues',
  workers: 'workers',
  workflow: 'workflows',
};

/** The user has pressed a key and is waiting. */
const PATIENCE_MS = 1000;
const MOST = 100;

/** Make a function that asks the database of the settings: the configured one, or the local server while it runs. */
export function namesFrom(context: Context): NamesOf {
  return async (known) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly Offer[]>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, []);
    });
    const found = read(context, known).catch(() => []);
    const offers = await Promise.race([found, late]);
    clearTimeout(timer);
    return offers;
  };
}

async function read(context: Context, known: Known): Promise<readonly Offer[]> {
  const databaseUrl = await urlOf(context);
  if (databaseUrl === undefined) return [];
  const { openDatabase } = await import('../../lib/database.ts');
  const db = openDatabase({
    databaseUrl,
    maxConnections: 1,
    applicationName: 'taskq completion',
    deadlineMs: PATIENCE_MS,
  });
  try {
    return await READERS[known](db);
  } finally {
    await db.close();
  }
}

/** Completion starts no server. */
async function urlOf({ config, cwd }: Context): Promise<string | undefined> {
  const { databaseUrl, stateDir } = (await config()).values;
  if (databaseUrl !== null) return databaseUrl;
  const { embeddedStatus } = await import('../../embedded/status.ts');
  const { projectDatabase } = await import('../../embedded/project-database.ts');
  const server = await embeddedStatus(stateDir === null ? {} : { stateDir });
  return server?.url(projectDatabase(cwd));
}

const READERS: Readonly<Record<Known, (db: Queryable) => Promise<readonly Offer[]>>> = {
  async types(db) {
    const { knownTypes } = await import('../../queue/protocol/known-types.ts');
    return (await knownTypes(db)).map((value) => ({ value, about: '' }));
  },
  async queues(db) {
    const { listQueues } = await import('../../queue/inspect/list-queues.ts');
    const about = (pausedAt: string | null) => (pausedAt === null ? '' : 'paused');
    return (await listQueues(db, { countMs: 0 })).map(({ name, paused_at }) => ({
      value: name,
      about: about(paused_at),
    }));
  },
  async workers(db) {
    const { listWorkers } = await import('../../queue/inspect/list-workers.ts');
    const workers = await listWorkers(db, {}, MOST);
    return workers.map(({ id, name, given_name, status }) =>
      given_name === null ? { value: id, about: `${name}, ${status}` } : { value: given_name, about: status },
    );
  },
  async 'dead letters'(db) {
    const { findTasks } = await import('../../queue/inspect/find-tasks.ts');
    const { tasks } = await findTasks(db, { status: ['dead'] }, MOST);
    return tasks.map(({ id, type, reason }) => ({ value: id, about: `${type}: ${String(reason)}` }));
  },
  async schedules(db) {
    const { listSchedules } = await import('../../queue/inspect/list-schedules.ts');
    const schedules = await listSchedules(db, { limit: MOST });
    return schedules.map(({ name, expression, type }) => ({ value: name, about: `${expression} ${type}` }));
  },
  async operations(db) {
    const { listOperations } = await import('../../queue/inspect/list-operations.ts');
    const operations = await listOperations(db, { limit: MOST });
    return operations.map(({ id, verb, state }) => ({ value: id, about: `${verb}, ${state}` }));
  },
  async workflows(db) {
    const { listWorkflows } = await import('../../queue/inspect/list-workflows.ts');
    const workflows = await listWorkflows(db, { limit: MOST });
    return workflows.map(({ id, name, state }) => ({ value: id, about: `${name}, ${state}` }));
  },
};
