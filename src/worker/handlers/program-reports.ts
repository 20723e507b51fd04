import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { ExactNumber, parseExact } from '../../lib/exact-json.ts';
import { shown } from '../../lib/shown.ts';
import { messageOf } from '../../lib/thrown.ts';
import type { TaskContext } from './handler.ts';

/** What a program may report while it runs, by the name in its line. */
const REPORTS: Readonly<Record<string, (report: Report, ctx: TaskContext) => Promise<void> | void>> = {
  progress: ({ progress, text }, ctx) =>
    ctx.progress(asDouble(progress) as number, text as string | undefined),
  warn: ({ warn }, ctx) => ctx.warn(warn),
  enqueue: ({ enqueue: task }, ctx) => enqueueReported(task, ctx),
};

type Report = Readonly<Record<string, unknown>>;

const MAX_LINE_LENGTH = 2 * 1024 * 1024;

/**
 * Read what a program reports on file descriptor 3: a JSON object in each line, named by one of its members. Returns a
 * function that waits for what the lines ask for, and throws for the first one that is not understood, or refused.
 */
export function readReports(stream: Readable, ctx: TaskContext): () => Promise<void> {
  const decoder = new StringDecoder();
  let rest = '';
  let line = 0;
  let fault: Error | undefined;
  const taking = new Set<Promise<void>>();
  const take = (text: string) => {
    line += 1;
    if (fault !== undefined || text.trim() === '') return;
    const nth = line;
    const refuse = (error: unknown) => {
      fault ??= new Error(`file descriptor 3, line ${nth}: ${messageOf(error)}`);
    };
    try {
      const taken = report(text, ctx)?.catch(refuse);
      if (taken === undefined) return;
      taking.add(taken);
      void taken.then(() => taking.delete(taken));
    } catch (error) {
      refuse(error);
    }
  };
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop()!;
    for (const text of lines) take(text);
    if (rest.length > MAX_LINE_LENGTH) {
      fault ??= new Error(`file descriptor 3, line ${line + 1}: longer than 2 MB`);
      rest = '';
    }
  });
  /** A line without an end. */
  const takeLast = () => {
    const last = rest;
    rest = '';
    take(last);
  };
  stream.on('end', takeLast);
  stream.on('error', () => {});
  return async () => {
    // A process that it left running may hold the descriptor open.
    takeLast();
    await Promise.all(taking);
    if (fault !== undefined) throw fault;
  };
}

/** A program may print more digits than a double has, as `%.20f` does: that is no fault of the report. */
function asDouble(value: unknown): unknown {
  return value instanceof ExactNumber ? Number(value) : value;
}

function report(text: string, ctx: TaskContext): Promise<void> | void {
  const given = parsed(text);
  const names = Object.keys(REPORTS).filter((name) => Object.hasOwn(given, name));
  if (names.length !== 1) throw new Error(`expected one of ${Object.keys(REPORTS).join(', ')}`);
  return REPORTS[names[0]!]!(given, ctx);
}

async function enqueueReported(task: unknown, ctx: TaskContext): Promise<void> {
  if (typeof task !== 'object' || task === null || Array.isArray(task))
    throw new Error(`enqueue ${shown(task)}: expected {"type": …, "payload": …}, with options beside them`);
  const { type, payload, ...options } = task as { readonly type: string; readonly payload?: unknown };
  await ctx.enqueue(type, payload, options);
}

function parsed(text: string): Report {
  let given: unknown;
  try {
    given = parseExact(text);
  } catch {
    // The check below reports it.
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('expected a JSON object');
  return given as Report;
}
