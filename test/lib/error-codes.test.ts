import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../src/lib/error-codes.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

test('every documented error code is one that something throws', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
  const code = files
    .filter((file) => file.endsWith('.ts') && file !== 'lib/error-codes.ts')
    .map((file) => readFileSync(`${SRC}${file}`, 'utf8'))
    .join('\n');
  const made = new Set(
    [...code.matchAll(/(?:TaskqError\(|super\(|code:)\s*'(\w+)'/g)].map(([, name]) => name),
  );
  expect(Object.keys(ERROR_CODES).filter((name) => !made.has(name))).toEqual([]);
});

test('they are in order, each with a meaning and a remedy that are no sentences of their own', () => {
  expect(Object.keys(ERROR_CODES)).toEqual(Object.keys(ERROR_CODES).toSorted());
  for (const { meaning, remedy } of Object.values(ERROR_CODES)) {
    expect(meaning).toMatch(/^[a-z`].*[^.]$/);
    expect(remedy).toMatch(/^[a-z`].*[^.]$/);
  }
});
