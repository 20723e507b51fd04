import { TaskqError } from './errors.ts';
import { findJsonFault, type JsonFault } from './json-fault.ts';

/** Text that is not JSON: where it goes wrong and what is there. */
export class JsonError extends TaskqError {
  /** Offset of the fault in UTF-16 units; the length of the text when it ends too early. */
  readonly position: number;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units. */
  readonly column: number;
  /** The text around the fault, on one line. */
  readonly excerpt: string;
  /** What is wrong there: the message without the place. */
  readonly problem: string;

  constructor(text: string, fault: JsonFault) {
    const before = text.slice(0, fault.position).split('\n');
    const line = before.length;
    const column = before[line - 1]!.length + 1;
    const excerpt = excerptOf(text, fault.position);
    const near = excerpt === '' ? '' : `, near ${excerpt}`;
    const problem = `${fault.what}${near}`;
    super('bad_json', `invalid JSON at line ${line}, column ${column}: ${problem}`);
    this.name = 'JsonError';
    this.position = fault.position;
    this.line = line;
    this.column = column;
    this.excerpt = excerpt;
    this.problem = problem;
  }
}

/** Parses JSON text. Throws JsonError (code `bad_json`). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8's own message varies between versions of Node and often lacks the position.
    throw new JsonError(text, findJsonFault(text) ?? { position: 0, what: String(error) });
  }
}

const EXCERPT_BEFORE = 24;
const EXCERPT_AFTER = 12;

function excerptOf(text: string, position: number): string {
  const from = Math.max(0, position - EXCERPT_BEFORE);
  const to = position + EXCERPT_AFTER;
  const cut = text.slice(from, to).toWellFormed().replaceAll(/\s+/g, ' ').trim();
  return `${from > 0 ? '…' : ''}${cut}${to < text.length ? '…' : ''}`;
}

/** Whether a parsed value is an object, neither null nor an array. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
