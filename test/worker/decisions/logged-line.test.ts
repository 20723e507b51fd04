import fc from 'fast-check';
import { expect, test } from 'vitest';
import { STORABLE_LIMITS } from '../../../src/domain/storable.ts';
import { storableResult } from '../../../src/domain/storable-result.ts';
import { Attempt } from '../../../src/worker/attempt/attempt.ts';
import { Context, type ContextHost } from '../../../src/worker/attempt/context.ts';
import { loggedLine } from '../../../src/worker/attempt/log-lines.ts';

const ROOM = 2048;

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('\0', '\ud800', '\u0001'.repeat(300), 'é'.repeat(170), '__proto__'),
);
const value = fc.oneof(
  text,
  fc.double(),
  fc.boolean(),
  fc.bigInt(),
  fc.constantFrom(null, undefined, { deep: 1 }, [undefined]),
);

test('the fields of a line are stored as its JSON, whichever way they are kept', () => {
  fc.assert(
    fc.property(text, fc.dictionary(text, value), (message, fields) => {
      const line = loggedLine('info', message, fields);
      const room = Math.max(ROOM - Buffer.byteLength(line.message), 3);
      const { json } = storableResult(fields, { ...STORABLE_LIMITS, resultBytes: room });
      const stored = JSON.stringify(line.fields);
      if (Object.keys(fields).length === 0) expect(stored).toBeUndefined();
      else if (json === null) expect(line.fields).toBeTypeOf('string');
      else expect(JSON.parse(stored)).toEqual(JSON.parse(json));
    }),
  );
});

test('a field that changes after its line does not change the line', () => {
  const kept: unknown[] = [];
  const write: ContextHost['output']['write'] = (level, message, { fields }) =>
    kept.push(loggedLine(level, message, fields).fields);
  const task = { id: '1', leaseNo: 1, type: 'copy', queue: 'default', payload: '{}', attempts: 0 };
  const attempt = new Attempt({ ...task, traceparent: null, tick: null, workflow: null });
  const { log } = new Context(attempt, { output: { write } } as unknown as ContextHost, () => undefined);
  const flat = { rows: 1 };
  const deep = { of: { rows: 1 } };
  log.info('flat', flat);
  log.info('deep', deep);
  flat.rows = 2;
  deep.of.rows = 2;
  expect(kept).toEqual([{ rows: 1 }, { of: { rows: 1 } }]);
});
