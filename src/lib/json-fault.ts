export interface JsonFault {
  /** Offset in UTF-16 units; the length of the text when it ends too early. */
  readonly position: number;
  /** What was expected there and what was found. */
  readonly what: string;
}

/** Finds the first place where `text` stops being JSON; null if it is JSON. Does not recurse. */
export function findJsonFault(text: string): JsonFault | null {
  const open: Container[] = [];
  let awaited: Awaited = 'value';
  let at = skipBlanks(text, 0);
  while (at < text.length || awaited !== 'end') {
    const token: Token | null = tokenAt(text, at);
    const next: Awaited | null = token === null ? null : after(awaited, token.kind, open);
    if (token === null || next === null) {
      return { position: at, what: `expected ${EXPECTED[awaited]}, found ${found(text, at)}` };
    }
    if (token.fault !== null) return token.fault;
    awaited = next;
    at = skipBlanks(text, token.end);
  }
  return null;
}

type Container = '{' | '[';
type Awaited = 'value' | 'item' | 'first name' | 'name' | ':' | 'next in {' | 'next in [' | 'end';
type Mark = '{' | '}' | '[' | ']' | ',' | ':';
type Kind = Mark | 'string' | 'scalar';

interface Token {
  readonly kind: Kind;
  readonly end: number;
  /** What is wrong inside a string. */
  readonly fault: JsonFault | null;
}

const EXPECTED: Record<Awaited, string> = {
  value: 'a value',
  item: 'a value or "]"',
  'first name': 'a name in double quotes or "}"',
  name: 'a name in double quotes',
  ':': '":"',
  'next in {': '"," or "}"',
  'next in [': '"," or "]"',
  end: 'the end',
};

/** Returns what is expected after a token of this kind, read where `awaited` was; null if it is not allowed there. */
function after(awaited: Awaited, kind: Kind, open: Container[]): Awaited | null {
  switch (awaited) {
    case 'value':
      return afterValue(kind, open);
    case 'item':
      return kind === ']' ? close(open) : afterValue(kind, open);
    case 'first name':
      return kind === '}' ? close(open) : kind === 'string' ? ':' : null;
    case 'name':
      return kind === 'string' ? ':' : null;
    case ':':
      return kind === ':' ? 'value' : null;
    case 'next in {':
      return kind === '}' ? close(open) : kind === ',' ? 'name' : null;
    case 'next in [':
      return kind === ']' ? close(open) : kind === ',' ? 'value' : null;
    case 'end':
      return null;
    default:
      return awaited satisfies never;
  }
}

function afterValue(kind: Kind, open: Container[]): Awaited | null {
  if (kind === 'string' || kind === 'scalar') return nextIn(open);
  if (kind !== '{' && kind !== '[') return null;
  open.push(kind);
  return kind === '{' ? 'first name' : 'item';
}

function close(open: Container[]): Awaited {
  open.pop();
  return nextIn(open);
}

function nextIn(open: readonly Container[]): Awaited {
  const container = open.at(-1);
  return container === undefined ? 'end' : `next in ${container}`;
}

const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;

/** Null if no JSON token begins here. */
function tokenAt(text: string, at: number): Token | null {
  const mark = text[at] ?? '';
  if (mark !== '' && '{}[],:'.includes(mark)) return { kind: mark as Mark, end: at + 1, fault: null };
  if (mark === '"') return stringAt(text, at);
  SCALAR.lastIndex = at;
  return SCALAR.test(text) ? { kind: 'scalar', end: SCALAR.lastIndex, fault: null } : null;
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function stringAt(text: string, start: number): Token {
  for (let at = start + 1; at < text.length; ) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) return { kind: 'string', end: at + 1, fault: null };
    if (unit < 0x20) return broken(at, `a control character (${codeOf(unit)}) must be escaped in a string`);
    if (unit !== 0x5c) at += 1;
    else {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) return broken(at, `unknown escape ${text.slice(at, at + 2)}`);
      at = ESCAPE.lastIndex;
    }
  }
  return broken(text.length, 'the string has no closing quote');
}

function broken(position: number, what: string): Token {
  return { kind: 'string', end: position, fault: { position, what } };
}

const BLANKS = /[ \t\n\r]*/y;

function skipBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at;
  BLANKS.test(text);
  return BLANKS.lastIndex;
}

function found(text: string, at: number): string {
  const code = text.codePointAt(at);
  if (code === undefined) return 'the end';
  const isPrintable = code > 0x20 && code < 0x7f;
  return isPrintable ? `"${String.fromCodePoint(code)}"` : codeOf(code);
}

function codeOf(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
