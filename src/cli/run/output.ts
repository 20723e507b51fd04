import pc from 'picocolors';
import { stringifyExact } from '../../lib/exact-json.ts';
import { wrapText } from '../../lib/wrap.ts';
import type { Environment } from './environment.ts';
import type { GlobalOptions } from './global-options.ts';

export type Paint = ReturnType<typeof pc.createColors>;

/** The properties of the terminal that text for people is written for. */
export interface Screen {
  readonly paint: Paint;
  /** Null: no terminal, so nothing is cut. */
  readonly columns: number | null;
  /** Epoch milliseconds, for `3m ago`. */
  readonly now: number;
  /** Called with the titles of the columns that had no room. */
  leftOut(titles: readonly string[]): void;
}

/** Data goes to stdout, messages to stderr. */
export interface Output {
  readonly format: 'text' | 'json';
  /** For stderr. */
  readonly paint: Paint;
  /** stderr is a terminal that can show progress, and messages are wanted. */
  readonly canAnimate: boolean;
  /** Print only data and errors. */
  readonly isQuiet: boolean;
  /** Print the answer of a command: with --json `document`, else the text that `write` makes for people. */
  answer(document: unknown, write: (screen: Screen) => string | Promise<string>): Promise<void>;
  /** Print a line of data that is text in either format. */
  data(line: string): void;
  /** Print a message on stderr; not with --quiet. */
  talk(line: string): void;
  /** Print an error or a warning on stderr, also with --quiet. */
  complain(line: string): void;
}

/** Make the output of one run. */
export function createOutput(env: Environment, options: GlobalOptions): Output {
  const { stdout, stderr } = process;
  const format = options.json ? 'json' : 'text';
  const isQuiet = options.quiet === true;
  const talk = (line: string) => void (isQuiet || stderr.write(`${fitted(line, stderr)}\n`));
  return {
    format,
    isQuiet,
    paint: paintFor(stderr, env, options),
    canAnimate: stderr.isTTY && (stderr.columns ?? 0) > 0 && !isQuiet,
    async answer(document, write) {
      if (format === 'json') return void stdout.write(`${stringifyExact(document, indentFor(stdout))}\n`);
      const columns = stdout.isTTY && stdout.columns > 0 ? stdout.columns : null;
      const missing = new Set<string>();
      const leftOut = (titles: readonly string[]) => {
        for (const title of titles) missing.add(title);
      };
      const paint = paintFor(stdout, env, options);
      const text = await write({ paint, columns, now: Date.now(), leftOut });
      if (text !== '') stdout.write(`${text}\n`);
      if (missing.size > 0)
        talk(`no room in ${columns} columns for ${[...missing].join(', ')}: --json has all`);
    },
    data: (line) => void stdout.write(`${line}\n`),
    talk,
    complain: (line) => void stderr.write(`${line}\n`),
  };
}

/** Broken at blanks where a terminal is narrower; whole elsewhere. */
function fitted(line: string, { isTTY, columns }: NodeJS.WriteStream): string {
  return isTTY && columns > 0 ? wrapText(line, columns, 2) : line;
}

function indentFor(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? 2 : 0;
}

function paintFor(stream: NodeJS.WriteStream, env: Environment, options: GlobalOptions): Paint {
  return pc.createColors(stream.isTTY === true && wantsColour(env, options));
}

/** Whether a terminal is to have colours. */
export function wantsColour(env: Environment, { color }: Pick<GlobalOptions, 'color'>): boolean {
  return color !== false && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}
