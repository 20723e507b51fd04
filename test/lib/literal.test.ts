import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { areSendable, withLiterals } from '../../src/lib/literal.ts';

const client = new pg.Client({ connectionString: inject('serverUrl') });
beforeAll(() => client.connect());
afterAll(() => client.end());

const text = fc
  .string({
    unit: fc.oneof(fc.constantFrom(...`'"\\{},$1 NULLnull\n\t`), fc.string({ unit: 'binary', maxLength: 1 })),
  })
  .map((any) => any.replaceAll('\0', ''));
const value = fc.oneof(fc.constant(null), text);

test('a value written into the text of a statement arrives as one that is sent beside it', async () => {
  const asked =
    'select $1::text as a, $2::text[] as b, $3::float8 as c, $4::boolean as d, $1::text = $1 as e';
  const values = fc.tuple(
    value,
    fc.array(value),
    fc.oneof(fc.double(), fc.integer(), fc.constant(undefined)),
    fc.boolean(),
  );
  await fc.assert(
    fc.asyncProperty(values, fc.constantFrom('on', 'off'), async (given, conforming) => {
      await client.query(`set standard_conforming_strings = ${conforming}; set escape_string_warning = off`);
      const beside = await client.query(asked, [...given]);
      expect((await client.query(withLiterals(asked, given))).rows).toEqual(beside.rows);
    }),
    { numRuns: 300 },
  );
});

test('a text that would end the statement is not written into it, in a list neither', () => {
  expect(areSendable(['a', null, 1, true, ['b', null]])).toBe(true);
  expect(areSendable(['a\0b'])).toBe(false);
  expect(areSendable([1, ['a', '\0']])).toBe(false);
});

test('what has no text of its own is refused', () => {
  expect(() => withLiterals('select $1', [{ a: 1 }])).toThrow(
    'a statement cannot contain a value of type object',
  );
});
