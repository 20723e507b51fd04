import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type Branch, inOrder } from './paths.ts';
import type { World } from './world.ts';

/** Creates a database for the test file with the functions that play the events of a model: this one's by default. */
export function useModel(driver = new URL('driver.sql', import.meta.url)) {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = await database.client();
    for (const file of [new URL('play.sql', import.meta.url), driver])
      await client.query(await readFile(file, 'utf8'));
  });
  afterAll(() => database.drop());
  return {
    get client() {
      return client;
    },
    /** Opens another session. */
    session: () => database.client(),
  };
}

export async function begin(client: pg.Client, world: World): Promise<void> {
  await client.query('select model.start($1, $2)', [JSON.stringify(world.tasks), world.sharedKey]);
}

/** An event in the words of `model.act`, and the model's answer to it. */
export interface Played {
  readonly call: object;
  /** As `model.play` returns it: the answer, then what is seen. */
  readonly expected: string;
}

/** Plays a tree of events. Returns where the database first differs from the model: all that led there. */
export function walk(client: pg.Client, tree: readonly Branch[]): Promise<string | undefined> {
  return compare(client, 'walk', tree.map(callsOf), [...inOrder(tree)]);
}

const callsOf = ({ call, next }: Branch): object => ({ call, next: next.map(callsOf) });

/** Plays sequences of events, each from the beginning. Returns what `walk` returns. */
export function playAll(
  client: pg.Client,
  sequences: readonly (readonly Played[])[],
): Promise<string | undefined> {
  const calls = sequences.map((sequence) => sequence.map(({ call }) => call));
  const paths = sequences.flatMap((sequence) => sequence.map((_, index) => sequence.slice(0, index + 1)));
  return compare(client, 'play', calls, paths);
}

async function compare(
  client: pg.Client,
  how: 'walk' | 'play',
  what: object,
  paths: readonly (readonly Played[])[],
): Promise<string | undefined> {
  const { rows } = await client.query<[string]>({
    text: `select * from model.${how}($1)`,
    values: [JSON.stringify(what)],
    rowMode: 'array',
  });
  // What was taken back is dead rows.
  await client.query(
    'vacuum taskq.tasks, taskq.finished_tasks, taskq.dead_tasks, taskq.task_errors, taskq.workers, taskq.asks',
  );
  const differs = paths.findIndex((path, index) => rows[index]?.[0] !== path.at(-1)!.expected);
  if (differs === -1) return undefined;
  return [...paths[differs]!.map(textOf), `but the database says\n  ${rows[differs]?.[0]}`].join('\n');
}

const textOf = ({ call, expected }: Played) => `${JSON.stringify(call)}\n  ${expected}`;
