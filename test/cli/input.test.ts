import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inputItems } from '../../src/cli/enqueue/input-items.ts';
import { memberText } from '../../src/cli/enqueue/member-text.ts';

async function* chunked(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function textsOf(text: string, sizes: readonly number[], path = '-'): Promise<unknown[]> {
  const texts: unknown[] = [];
  for await (const items of inputItems(chunked(Buffer.from(text), sizes), path))
    texts.push(...items.map((item) => item.text));
  return texts;
}

const SIZES = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const LAYOUT = fc.constantFrom(undefined, 1, '\t');

describe('the input of enqueue --file', () => {
  test('an array is cut into its elements, wherever chunks end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), SIZES, LAYOUT, async (values, sizes, layout) => {
        const texts = await textsOf(` ${JSON.stringify(values, null, layout)}\n`, sizes);
        expect(texts.map((text) => JSON.parse(String(text)))).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });

  test('NDJSON is cut into its lines, wherever chunks end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue()),
        SIZES,
        fc.constantFrom('\n', '\r\n', '\n\n'),
        async (values, sizes, end) => {
          const texts = await textsOf(
            values.map((value) => JSON.stringify(value) + end).join(''),
            sizes,
            'a.ndjson',
          );
          expect(texts.map((text) => JSON.parse(String(text)))).toEqual(JSON.parse(JSON.stringify(values)));
        },
      ),
    );
  });

  test('a line that is not UTF-8 spoils no other, and all keep their numbers', async () => {
    const line = fc.constantFrom(
      Buffer.from('"a"'),
      Buffer.from('"ö"'),
      Buffer.from([0x22, 0xff]),
      Buffer.of(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line), SIZES, async (lines, sizes) => {
        const bytes = Buffer.concat(lines.flatMap((one) => [one, Buffer.from('\n')]));
        const items = [];
        for await (const some of inputItems(chunked(bytes, sizes), 'a.ndjson')) items.push(...some);
        const expected = lines.flatMap((one, index) => {
          const text = isUtf8(one) ? one.toString() : null;
          return text === '' ? [] : [{ line: index + 1, text }];
        });
        expect(items.map(({ line, text }) => ({ line, text }))).toEqual(expected);
      }),
    );
  });

  test('the text of a member is that of the object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.jsonValue(),
        LAYOUT,
        (others, payload, layout) => {
          const object = { ...others, payload, z: 1 };
          const text = memberText(JSON.stringify(object, null, layout), 'payload');
          expect(JSON.parse(text!)).toEqual(JSON.parse(JSON.stringify(payload)));
        },
      ),
    );
    expect(memberText('{"payload": 1, "a": {"payload": 2}, "p\\u0061yload" : 1.50 }', 'payload')).toBe(
      '1.50',
    );
    expect(memberText('{}', 'payload')).toBeUndefined();
  });
});
