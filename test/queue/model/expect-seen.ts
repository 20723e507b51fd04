import type pg from 'pg';
import { expect } from 'vitest';
import { readFunctions } from '../../../src/queue/schema/schema-release.ts';

/** A mistake in SQL functions: every occurrence of a text replaced. */
export interface Mutant {
  readonly name: string;
  /** The function's name; two, with `, ` between them, where either would make up for the other. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The sequence that shows it: its beginning, by number, and the seed that draws its events. */
  readonly seen: Drawn;
}

export type Drawn = readonly [beginning: number, seed: number];

/** Plays the sequences that these seeds draw, all from one beginning. Returns the first difference from the model. */
export type PlayDrawn = (beginning: number, seeds: readonly number[]) => Promise<string | undefined>;

const functions = await readFunctions();

/**
 * Expects that the mutant's sequence differs from the model with the mistake, and does not without it. Functions and models
 * change: where it no longer differs, the message names one that does.
 */
export async function expectSeen(
  client: pg.Client,
  { file, from, to, seen }: Mutant,
  play: PlayDrawn,
  beginnings: number,
): Promise<void> {
  const texts = file.split(', ').map((wanted) => functions.find(({ name }) => name === wanted)!.text);
  const [beginning, seed] = seen;
  expect(await play(beginning, [seed])).toBeUndefined();
  for (const text of texts) {
    expect(text).toContain(from);
    await client.query(text.replaceAll(from, to));
  }
  try {
    // It does something else, and does not fail.
    if (OTHERWISE.test((await play(beginning, [seed])) ?? '')) return;
    throw new Error(`nothing is seen in [${seen}]: ${await findSeen(play, beginnings)}`);
  } finally {
    for (const text of texts) await client.query(text);
  }
}

const OTHERWISE = /=>.*$/;

async function findSeen(play: PlayDrawn, beginnings: number): Promise<string> {
  for (let first = 1; first < 400; first += 20) {
    const seeds = Array.from({ length: 20 }, (_, index) => first + index);
    for (let beginning = 0; beginning < beginnings; beginning++) {
      if ((await play(beginning, seeds)) === undefined) continue;
      for (const seed of seeds)
        if (OTHERWISE.test((await play(beginning, [seed])) ?? '')) return `name [${beginning}, ${seed}]`;
    }
  }
  return 'no other sequence shows it';
}
