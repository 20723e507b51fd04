import { expect, test } from 'vitest';
import { BriefFunctions } from '../../../src/worker/attempt/brief-functions.ts';

function ranBriefly(times: number, brief = new BriefFunctions()): BriefFunctions {
  for (let n = 0; n < times; n++) brief.ran('shop.take', 1);
  return brief;
}

test('a function is brief after three brief runs in a row, whatever the others do', () => {
  const brief = ranBriefly(2);
  brief.ran('shop.report', 1000);
  expect(brief.has('shop.take')).toBe(false);
  ranBriefly(1, brief);
  expect(brief.has('shop.take')).toBe(true);
  expect(brief.has('shop.report')).toBe(false);
});

test('a slow run, and one that used up the time of its batch, begin the count anew', () => {
  for (const slow of [
    (b: BriefFunctions) => b.ran('shop.take', 1000),
    (b: BriefFunctions) => b.wasSlow('shop.take'),
  ]) {
    const brief = ranBriefly(5);
    slow(brief);
    expect(ranBriefly(2, brief).has('shop.take')).toBe(false);
    expect(ranBriefly(1, brief).has('shop.take')).toBe(true);
  }
});

test('after a failure it takes a hundred, and a slow run among them does not make them fewer', () => {
  const brief = ranBriefly(3);
  brief.failed('shop.take');
  brief.ran('shop.take', 1000);
  expect(ranBriefly(99, brief).has('shop.take')).toBe(false);
  expect(ranBriefly(1, brief).has('shop.take')).toBe(true);
});

test('a function that has never succeeded is not remembered', () => {
  const brief = new BriefFunctions();
  brief.failed('shop.nope');
  expect(ranBriefly(3, brief).has('shop.take')).toBe(true);
  for (let n = 0; n < 3; n++) brief.ran('shop.nope', 1);
  expect(brief.has('shop.nope')).toBe(true);
});
