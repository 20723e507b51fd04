import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changed, hrefTo, placeOf } from '../../../src/ui/lib/place.ts';

test.each([
  ['', 'overview', [], ''],
  ['#', 'overview', [], ''],
  ['#/tasks', 'tasks', [], ''],
  ['#/tasks?queue=mail&status=dead', 'tasks', [], 'queue=mail&status=dead'],
  ['#/task/12', 'task', ['12'], ''],
  ['#/queue/a%2Fb?x=%3F', 'queue', ['a/b'], 'x=%3F'],
  ['#/queue/%', 'queue', ['%'], ''],
])('%s is read', (hash, screen, names, params) => {
  const place = placeOf(hash);
  expect([place.screen, place.names, String(place.params)]).toEqual([screen, names, params]);
});

test('every name and every parameter survives the URL', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1 })),
      fc.dictionary(fc.string(), fc.string({ minLength: 1 })),
      (names, params) => {
        const place = placeOf(new URL(hrefTo('task', names, params), 'http://localhost/').hash);
        expect(place.names).toEqual(names);
        expect([...place.params]).toEqual(Object.entries(params));
      },
    ),
  );
});

test('parameters that become empty go', () => {
  const params = new URLSearchParams('a=1&b=2&b=3&c=4');
  expect(String(changed(params, { a: '', b: null, c: ['5', '6'], d: undefined }))).toBe('c=5&c=6');
});
