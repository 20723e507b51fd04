import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { createTestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import type { RunOptions, TaskqResult } from '../support/run-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A directory with two handlers, `double` and `send-email` (which has a schema), and a migrated database. */
export interface Project {
  readonly directory: string;
  readonly url: string;
  /** The server itself, past a pooler. */
  readonly directUrl: string;
  readonly client: pg.Client;
  /** The same as a role of its own that may call functions, and has no right on any table. */
  callerUrl(): Promise<string>;
  /** Opens another connection, closed by `drop`. */
  connect(): Promise<pg.Client>;
  /** Runs a command there, with DATABASE_URL set. */
  run(args: readonly string[], options?: RunOptions): Promise<TaskqResult>;
  /** The same; fails unless it exits 0, and returns the document that --json printed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any shape
  json(args: readonly string[], options?: RunOptions): Promise<any>;
  /** Enqueues a task of type `double` by SQL and returns its id. */
  enqueue(options?: object): Promise<string>;
  /** The same, dead of `attempts_spent`. */
  enqueueDead(options?: object): Promise<string>;
  write(name: string, text: string): Promise<string>;
  drop(): Promise<void>;
}

const HANDLERS = {
  'double.mjs':
    'export default async ({ n }) => { if (n < 0) throw new RangeError("negative: " + n); return 2 * n; };',
  'send-email.mjs': `
    const validate = (value) =>
      typeof value?.to === 'string' ? { value } : { issues: [{ message: 'expected text', path: ['to'] }] };
    export default {
      schema: { '~standard': { version: 1, vendor: 'test', validate } },
      run: async ({ to }) => ({ sent: to }),
    };`,
};

export async function createProject(): Promise<Project> {
  const database = await createTestDatabase();
  const client = await database.client();
  const directory = await temporaryDirectory();
  const write = async (name: string, text: string) => {
    const path = join(directory, name);
    await writeFile(path, text);
    return path;
  };
  await mkdir(join(directory, 'handlers'));
  for (const [name, text] of Object.entries(HANDLERS)) await write(join('handlers', name), text);
  const { url, directUrl } = database;
  let caller: string | undefined;
  const run: Project['run'] = (args, options = {}) =>
    runCommand(args, { cwd: directory, ...options, env: { DATABASE_URL: url, ...options.env } });
  const enqueue = async (options: object = {}) => {
    const text = `select id from taskq.enqueue('double', '{"n": 1}', $1)`;
    const given = { allow_unknown: true, ...options };
    return (await client.query<{ id: string }>(text, [JSON.stringify(given)])).rows[0]!.id;
  };
  return {
    directory,
    url,
    directUrl,
    client,
    async callerUrl() {
      caller = `caller_${database.name}`;
      await client.query(`
        create role ${caller} login;
        grant usage on schema taskq to ${caller};
        grant execute on all functions in schema taskq to ${caller};
      `);
      return directUrl.replace(/\/\/[^@/]*@/, `//${caller}@`);
    },
    connect: database.client,
    run,
    async json(args, options) {
      const result = await run([...args, '--json'], options);
      if (result.code === 0) return JSON.parse(result.stdout);
      throw new Error(`taskq ${args.join(' ')}: ${JSON.stringify(result)}`);
    },
    enqueue,
    async enqueueDead(options) {
      const id = await enqueue(options);
      const text = `select taskq.move_to_dead(array[$1::bigint], array['attempts_spent'], clock_timestamp())`;
      await client.query(text, [id]);
      return id;
    },
    write,
    async drop() {
      if (caller !== undefined) await client.query(`drop owned by ${caller} cascade; drop role ${caller}`);
      await database.drop();
    },
  };
}
