import { expect, test } from 'vitest';
import { ExactNumber, JsonText, parseJson, stringifyJson } from '../../../src/ui/lib/json.ts';

test.each(['null', '"a\\"b"', '[]', '{}', '[1,true,null,"x",{"a":{}}]', '{"__proto__":1}'])(
  '%s is read and written as it is',
  (text) => expect(stringifyJson(parseJson(text))).toBe(text),
);

test('typed JSON is sent as it was typed, and what is undefined is left out', () => {
  expect(stringifyJson({ payload: new JsonText('{"n": 1e400}'), delay: undefined })).toBe(
    '{"payload":{"n": 1e400}}',
  );
});

test('JSON to read is indented', () => {
  const value = { a: [1, { b: new ExactNumber('1.0') }], c: [], d: {} };
  expect(stringifyJson(value, '  ')).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": 1.0\n    }\n  ],\n  "c": [],\n  "d": {}\n}',
  );
});
