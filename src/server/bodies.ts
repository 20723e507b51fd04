import { mayNeedExact, parseExact } from '../lib/exact-json.ts';
import { parseJson } from '../lib/json.ts';
import { jsonbProblems, MAX_JSON_DEPTH } from '../lib/jsonb-problems.ts';
import { badRequest, Problem } from './problem.ts';
import type { Route } from './route.ts';
import { type Misfit, misfitsIn, type Schema } from './schema.ts';

/** The most bytes of a body that is one object: a payload of 1 MB may have six times as many as JSON with escapes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The most bytes that an unknown caller may send: a token. */
const MAX_BYTES_OF_OPEN = 4096;
/** The most bytes of a body of many tasks. */
const MAX_BYTES_OF_MANY = 16 * 1024 * 1024;
const MAX_ITEMS = 10_000;
/** Stop after this many: a body may have millions. */
const MOST_MISFITS = 10;
/** The rest of a body around a payload, in bytes. */
const LEVELS_AROUND = 3;

export interface ReadBody {
  readonly body: Readonly<Record<string, unknown>>;
  /** Null: the body is no list. */
  readonly items: readonly unknown[] | null;
}

/** The most bytes of all bodies that are being read: many slow clients together must not fill the memory. */
const MAX_BYTES_AT_ONCE = 256 * 1024 * 1024;

/** Reads the bodies of requests, and counts the bytes held. */
export class Bodies {
  #bytes = 0;

  /** Reads the body of a request, up to the size that its route allows. Throws Problem. */
  async read(request: Request, { body: schema, role, takesMany, forBrowsers }: Route): Promise<ReadBody> {
    if (schema === undefined) return { body: {}, items: null };
    const most = role === 'open' ? MAX_BYTES_OF_OPEN : takesMany ? MAX_BYTES_OF_MANY : MAX_BYTES;
    const text = await this.#textOf(request, most);
    if (text === '') return { body: fitting({}, schema) as ReadBody['body'], items: null };
    const kind = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    if (takesMany && kind === 'application/x-ndjson')
      return { body: {}, items: itemsOf(linesOf(text), schema) };
    if (forBrowsers && kind === 'application/x-www-form-urlencoded') {
      const fields = Object.fromEntries(new URLSearchParams(text));
      return { body: fitting(fields, schema) as ReadBody['body'], items: null };
    }
    if (kind !== 'application/json') throw new Problem('unsupported_media_type');
    const document = parsed(text, '');
    if (takesMany && Array.isArray(document)) return { body: {}, items: itemsOf(document, schema) };
    return { body: fitting(document, schema) as ReadBody['body'], items: null };
  }

  async #textOf(request: Request, most: number): Promise<string> {
    const tooLarge = () => new Problem('too_large', { detail: `expected at most ${most} bytes` });
    if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge();
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const chunk of request.body ?? []) {
        length += chunk.byteLength;
        this.#bytes += chunk.byteLength;
        if (length > most) throw tooLarge();
        if (this.#bytes > MAX_BYTES_AT_ONCE) throw new Problem('busy', {}, { 'retry-after': '5' });
        chunks.push(chunk);
      }
      return utf8Of(Buffer.concat(chunks));
    } finally {
      this.#bytes -= length;
    }
  }
}

function utf8Of(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('bad_json', [{ pointer: '', detail: 'the body is not UTF-8' }]);
  }
}

function linesOf(text: string): readonly unknown[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, place) => parsed(line, `/${place}`));
}

function itemsOf(items: readonly unknown[], schema: Schema): readonly unknown[] {
  return fitting(items, { type: 'array', items: schema, maxItems: MAX_ITEMS }) as readonly unknown[];
}

function fitting(document: unknown, schema: Schema): unknown {
  const misfits: Misfit[] = [];
  for (const misfit of misfitsIn(document, schema)) if (misfits.push(misfit) === MOST_MISFITS) break;
  if (misfits.length > 0) throw badRequest('bad_option', misfits);
  return document;
}

function parsed(text: string, pointer: string): unknown {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (error) {
    throw badRequest('bad_json', [{ pointer, detail: (error as Error).message }]);
  }
  // Before exact numbers are read, because that recurses.
  const problems = jsonbProblems(document, MAX_JSON_DEPTH + LEVELS_AROUND);
  if (problems.length === 0) return mayNeedExact(text) ? parseExact(text) : document;
  throw badRequest(
    'bad_json',
    problems.map(({ path, what }) => ({ pointer, detail: `${path} ${what}` })),
  );
}
