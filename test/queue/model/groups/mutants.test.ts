import { describe, expect, it } from 'vitest';
import { readFunctions } from '../../../../src/queue/schema/schema-release.ts';
import { playAll, useModel } from '../database.ts';
import { MUTANTS, type Mutant, UNASKED } from './mutants.ts';
import { playsOf, settingsOf } from './play.ts';

const functions = await readFunctions();
const model = useModel(new URL('driver.sql', import.meta.url));

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
  await model.client.query(text.replaceAll(from, to));
  // It does something else, and does not fail.
  expect(await findDifference(mutant)).toMatch(/=>.*$/);
  await model.client.query(text);
}

async function findDifference({ world, events }: Mutant): Promise<string | undefined> {
  await model.client.query('select model.start($1)', [settingsOf(world.settings)]);
  return await playAll(model.client, [playsOf(world, events)]);
}
