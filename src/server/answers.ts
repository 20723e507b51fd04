import { Problem } from './problem.ts';
import type { AnswerDescription, QueryParameter } from './route.ts';
import type { Schema } from './schema.ts';

/** Describes the answer 200. */
export function answers200(description: string, schema: Schema): Readonly<Record<200, AnswerDescription>> {
  return { 200: { description, schema } };
}

export const LIMIT: QueryParameter = {
  type: 'integer',
  description: 'the most items of a page, 1 to 1000; 100',
};
export const AFTER: QueryParameter = { type: 'string', description: 'the `after` of the previous page' };

/** Reads the parameter `limit`. Throws Problem. */
export function limitOf({ limit = '100' }: Readonly<Record<string, string>>): number {
  return countOf('limit', limit, 1000);
}

/** Reads a parameter that is a number from 1 on. Throws Problem. */
export function countOf(name: string, text: string, most: number): number {
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= most) return Number(text);
  const detail = `expected a whole number from 1 to ${most}`;
  throw new Problem([400, 'bad_option'], {
    detail: `${name}: ${detail}`,
    errors: [{ pointer: name, detail }],
  });
}

/** Thrown if an object is not in the state that a verb needs. */
export function wrongState(what: string, state: string): Problem {
  return new Problem('wrong_state', { detail: `${what} is ${state}`, more: { state } });
}
