import { expect, test } from 'vitest';
import { BatchFilling } from '../../../src/worker/attempt/batch-filling.ts';
import { BriefFunctions } from '../../../src/worker/attempt/brief-functions.ts';

function ranBriefly(times: number, brief = new BriefFunctions()): BriefFunctions {
  for (let n = 0; n < times; n++) brief.ran('shop.take', 1);
  return brief;
}

test('a function is brief after three brief runs in a row, whatever the others do', () => {
  const brief = ranBriefly(2);
  brief.ran('shop.report', 1000);
  expect(brief.expectedMs('shop.take')).toBeUndefined();
  ranBriefly(1, brief);
  expect(brief.expectedMs('shop.take')).toBe(1);
  expect(brief.expectedMs('shop.report')).toBeUndefined();
});

test('a slow run begins the count anew', () => {
  const brief = ranBriefly(5);
  brief.ran('shop.take', 1000);
  expect(ranBriefly(2, brief).expectedMs('shop.take')).toBeUndefined();
  expect(ranBriefly(1, brief).expectedMs('shop.take')).toBeDefined();
});

test('a run is expected to take as long as the last ones', () => {
  const brief = ranBriefly(3);
  brief.ran('shop.take', 5);
  expect(brief.expectedMs('shop.take')).toBe(2);
  for (let n = 0; n < 100; n++) brief.ran('shop.take', 5);
  expect(brief.expectedMs('shop.take')).toBeCloseTo(5);
});

test('a batch has a hundred calls, or what takes ten milliseconds', () => {
  const sizeOf = (ms: number) => {
    const filling = new BatchFilling();
    let size = 0;
    do {
      filling.add(ms);
      size += 1;
    } while (filling.isOpen);
    expect(filling.add(ms)).toBe(false);
    return size;
  };
  expect([0, 0.01, 1, 4, 9, 20].map(sizeOf)).toEqual([100, 100, 10, 3, 2, 1]);
});

test('after a failure it takes a hundred, and a slow run among them does not make them fewer', () => {
  const brief = ranBriefly(3);
  brief.failed('shop.take');
  brief.ran('shop.take', 1000);
  expect(ranBriefly(99, brief).expectedMs('shop.take')).toBeUndefined();
  expect(ranBriefly(1, brief).expectedMs('shop.take')).toBeDefined();
});

test('a function that has never succeeded is not remembered', () => {
  const brief = new BriefFunctions();
  brief.failed('shop.nope');
  expect(ranBriefly(3, brief).expectedMs('shop.take')).toBeDefined();
  for (let n = 0; n < 3; n++) brief.ran('shop.nope', 1);
  expect(brief.expectedMs('shop.nope')).toBe(1);
});
