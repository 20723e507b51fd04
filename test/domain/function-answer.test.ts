import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../src/domain/function-answer.ts';
import { parseExact } from '../../src/lib/exact-json.ts';

describe('what a SQL function has answered', () => {
  test.each([
    [{ status: 'succeeded', payload: { n: 1 } }, 'succeeded', { n: 1 }, null],
    [{ status: 'attempt_not_found' }, 'attempt_not_found', null, null],
    [{ status: 'odd', error: 'why' }, 'odd', null, 'why'],
    [{ status: 'succeeded', success: false }, 'succeeded', null, null],
    [{ success: true, payload: [1], error: '' }, 'succeeded', [1], null],
    [{ success: false, error: 'down' }, 'failed', null, 'down'],
    [{ success: false }, 'failed', null, null],
    [{ success: false, error: { code: 7 } }, 'failed', null, '{"code":7}'],
    [{ success: false, validation_failure_message: 'no address' }, 'invalid', null, 'no address'],
    [{ success: true, validation_failure_message: 'no address' }, 'invalid', null, 'no address'],
    [{ validation_failure_message: 'no address' }, 'invalid', null, 'no address'],
    [{ success: true, validation_failure_message: '' }, 'succeeded', null, null],
  ])('%j', (answer, status, payload, message) => {
    expect(readAnswer(answer)).toEqual({ status, payload, message, answer });
  });

  test.each([
    ['null', 'it is null'],
    ['"done"', 'it is a string'],
    ['true', 'it is a boolean'],
    ['12345678901234567890', 'it is a number'],
    ['[]', 'it is an array'],
    ['{}', 'it has neither a status nor success'],
    ['{"status": null, "success": true}', 'its status is no string'],
    ['{"status": ""}', 'its status is empty'],
    ['{"success": "true"}', 'it has neither a status nor success'],
  ])('%s cannot be read: %s', (text, why) => {
    expect(readAnswer(parseExact(text))).toBe(why);
  });

  test('any JSON value is read, or refused in words', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const answer = readAnswer(value);
        if (typeof answer === 'string') expect(answer).toMatch(/^it(s| is| has) /);
        else expect(answer.status).not.toBe('');
      }),
    );
  });
});
