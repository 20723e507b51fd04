/// <reference lib="es2024.string" />

export interface JsonbProblem {
  /** Place in the document, such as `$.user.name` or `$.items[3]["first name"]`; cut when very long. */
  readonly path: string;
  readonly what: string;
}

/** Most levels of nesting that we accept: `[]` is one level, `1` is none. */
export const MAX_JSON_DEPTH = 64;

/**
 * Finds what PostgreSQL's jsonb refuses or changes in a value from JSON.parse: NUL characters and lone surrogates (in
 * names too), numbers beyond a double, and more than `maxDepth` levels. Returns at most the first 10 problems, none if
 * the value can be stored. Does not recurse.
 */
export function jsonbProblems(document: unknown, maxDepth = MAX_JSON_DEPTH): JsonbProblem[] {
  const problems: JsonbProblem[] = [];
  const frames = [frameOf('', [document])];
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (frame.next >= frame.count) {
      frames.pop();
      continue;
    }
    const name = frame.names === null ? frame.next : frame.names[frame.next]!;
    const value = (frame.container as Record<string | number, unknown>)[name];
    frame.next += 1;
    const report = (what: string) => problems.push({ path: pathOf(frames, name), what });
    const flaw = flawOf(name);
    if (flaw !== null) report(`its name has ${flaw}`);
    if (typeof value !== 'object' || value === null) {
      const problem = scalarProblem(value);
      if (problem !== null) report(problem);
    } else if (frames.length <= maxDepth) frames.push(frameOf(name, value));
    else report(`nested deeper than ${maxDepth} levels`);
  }
  return problems;
}

const MAX_PROBLEMS = 10;
const MAX_PATH = 200;

/** An object or array on the path to the current value. The first frame holds the document as its only item. */
interface Frame {
  readonly name: string | number;
  readonly container: object;
  /** Null for an array. */
  readonly names: readonly string[] | null;
  readonly count: number;
  next: number;
}

function frameOf(name: string | number, container: object): Frame {
  if (Array.isArray(container)) return { name, container, names: null, count: container.length, next: 0 };
  const names = Object.keys(container);
  return { name, container, names, count: names.length, next: 0 };
}

function scalarProblem(value: unknown): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'is a number out of range';
  const flaw = typeof value === 'string' ? flawOf(value) : null;
  return flaw === null ? null : `has ${flaw}`;
}

function flawOf(text: string | number): string | null {
  if (typeof text === 'number') return null;
  if (text.includes('\0')) return 'a NUL character (\\u0000)';
  return text.isWellFormed() ? null : 'a lone surrogate (half of a character)';
}

function pathOf(frames: readonly Frame[], name: string | number): string {
  const steps = [...frames.map((frame) => frame.name), name].slice(2);
  const path = `$${steps.map(step).join('')}`;
  return path.length > MAX_PATH ? `${path.slice(0, MAX_PATH).toWellFormed()}…` : path;
}

function step(name: string | number): string {
  if (typeof name === 'number') return `[${name}]`;
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
