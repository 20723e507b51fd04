import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFunctions, type SqlFunction } from '../../../../src/queue/schema/schema-release.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { playAll, readDriver } from '../database.ts';
import { MUTANTS, type Mutant, UNASKED } from './mutants.ts';
import { playsOf, settingsOf } from './play.ts';

let database: TestDatabase;
let client: pg.Client;
let functions: readonly SqlFunction[];

beforeAll(async () => {
  functions = await readFunctions();
  database = await createTestDatabase();
  client = await database.client();
  await client.query(await readDriver(new URL('driver.sql', import.meta.url)));
});
afterAll(() => database.drop());

describe('the replay sees that a SQL function does not ask for', () => {
  it.each(UNASKED)('$name: $file', expectDifference);
});

describe('and other mistakes', () => {
  it.each(MUTANTS)('$file: $name', expectDifference);
});

async function expectDifference(mutant: Mutant): Promise<void> {
  const { file, from, to } = mutant;
  const { text } = functions.find(({ name }) => name === file)!;
  expect(text).toContain(from);
  expect(await findDifference(mutant)).toBeUndefined();
  await client.query(text.replaceAll(from, to));
  // It does something else, and does not fail.
  expect(await findDifference(mutant)).toMatch(/=>.*$/);
  await client.query(text);
}

async function findDifference({ world, events }: Mutant): Promise<string | undefined> {
  await client.query('select model.start($1)', [settingsOf(world.settings)]);
  return await playAll(client, [playsOf(world, events)]);
}
