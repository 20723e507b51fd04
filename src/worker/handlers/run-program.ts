import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { Again, Retry } from '../../domain/signals.ts';
import { parseExact } from '../../lib/exact-json.ts';
import type { TaskContext } from './handler.ts';
import { readReports } from './program-reports.ts';
import type { ProgramVariable } from './program-variables.ts';

/** EX_TEMPFAIL of sysexits.h: "temporary failure; the user is invited to try again later". */
const TRY_AGAIN = 75;
/** The first exit code that sysexits.h leaves free. */
const RUN_AGAIN = 79;

/** Read at most this much of a program's stdout; a result that can be stored is far smaller. */
const MAX_RESULT_BYTES = 8 * 1024 * 1024;
const MAX_TAIL_BYTES = 3000;
const MAX_LINE_BYTES = 2000;
/** How long to read the output of processes that a program left running. */
const OUTPUT_MS = 1000;

/**
 * Run a program on a task. It gets the payload on stdin, as JSON, and the worker's whole environment (including a
 * database URL: it may call taskq), with `TASKQ_ID`, `TASKQ_IDEMPOTENCY_KEY`, `TASKQ_TYPE`, `TASKQ_QUEUE`, `TASKQ_ATTEMPT`, `TASKQ_TICK` if a
 * schedule enqueued it at a tick, `TASKQ_WORKFLOW` and `TASKQ_STEP` if it is a step of a workflow, and `TRACEPARENT` if
 * it has one. Each line of stderr is logged, each line on file descriptor 3 is a report (see `readReports`). When asked
 * to end it gets SIGTERM; its worker kills it after `killAfter`.
 *
 * A line `{"enqueue": {"type": …, "payload": …, …options}}` on file descriptor 3 enqueues a task; the attempt fails if it
 * is refused.
 *
 * Exit code 0: stdout is the result, as JSON if it is JSON, else as text; no output means no result. Exit code 75:
 * throws Retry. Exit code 79: returns Again, with stdout as its options. Otherwise it throws an error with the end of
 * stderr. A report that cannot be understood fails an attempt that would have completed. A second after the program has
 * ended its output is closed, whoever else holds it.
 */
export async function runProgram(path: string, payload: string, ctx: TaskContext): Promise<unknown> {
  const { id, idempotencyKey, type, queue, attempt, traceparent, tick, workflow } = ctx;
  const variables: Readonly<Record<ProgramVariable, string | undefined>> = {
    TASKQ_ID: id,
    TASKQ_IDEMPOTENCY_KEY: idempotencyKey,
    TASKQ_TYPE: type,
    TASKQ_QUEUE: queue,
    TASKQ_ATTEMPT: String(attempt),
    TASKQ_TICK: tick?.toISOString(),
    TASKQ_WORKFLOW: workflow?.id,
    TASKQ_STEP: workflow?.step ?? undefined,
  };
  // Undefined removes what was given to the worker itself.
  const program = spawn(path, [], {
    env: { ...process.env, TRACEPARENT: traceparent ?? undefined, ...variables },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const exited = once(program, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  // Without a free file descriptor there are no pipes; the error of the start follows.
  if (program.stdio === undefined)
    return exited.catch((error) => Promise.reject(new Error(notStarted(path, error))));
  const terminate = () => program.kill('SIGTERM');
  ctx.signal.addEventListener('abort', terminate);
  if (ctx.signal.aborted) terminate();
  // The program need not read its payload.
  program.stdin.on('error', () => {});
  program.stdin.end(payload);
  const result = keepHead(program.stdout, MAX_RESULT_BYTES);
  const tail = keepTail(program.stderr, MAX_TAIL_BYTES);
  logLines(program.stderr, (line) => ctx.log.info(line));
  const checkReports = readReports(program.stdio[3] as Readable, ctx);
  const closed = once(program, 'close').catch(() => {});
  try {
    const [exitCode, signal] = await exited;
    // Processes that it started may hold its output open forever.
    await Promise.race([closed, sleep(OUTPUT_MS, undefined, { ref: false })]);
    if (exitCode === 0 || exitCode === RUN_AGAIN) await checkReports();
    if (exitCode === 0) return resultOf(result());
    if (exitCode === RUN_AGAIN) return againOf(resultOf(result()));
    if (exitCode === TRY_AGAIN) throw new Retry({ message: lastLine(tail()) ?? 'it asked for a retry' });
    throw new ProgramFailed(path, { exitCode, signal, tail: tail() });
  } catch (error) {
    throw isSystemError(error) ? new Error(notStarted(path, error)) : error;
  } finally {
    ctx.signal.removeEventListener('abort', terminate);
    // Otherwise such processes would use up the worker's file descriptors, three for each task.
    for (const stream of program.stdio) stream?.destroy();
  }
}

interface Failure {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of stderr. */
  readonly tail: string;
}

/** A program that did not exit with 0. Its stack is the end of stderr. */
class ProgramFailed extends Error {
  readonly code: string;

  constructor(path: string, { exitCode, signal, tail }: Failure) {
    const how = signal === null ? `exit code ${exitCode}` : signal;
    super([`${basename(path)} ended with ${how}`, lastLine(tail)].filter(Boolean).join(': '));
    this.name = 'ProgramFailed';
    this.code = signal ?? String(exitCode);
    this.stack = tail;
  }
}

function notStarted(path: string, error: NodeJS.ErrnoException): string {
  const why =
    error.code === 'ENOENT'
      ? 'the program named in its first line does not exist'
      : `the system says ${error.code}`;
  return `${path} cannot be started: ${why}`;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function resultOf(written: string): unknown {
  const text = written.trim();
  if (text === '') return undefined;
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function againOf(written: unknown): Again {
  const options = written ?? {};
  if (typeof options !== 'object' || Object.keys(options).some((name) => !AGAIN_OPTIONS.includes(name)))
    throw new Error(`exit code ${RUN_AGAIN}: expected {"delay": …, "payload": …, "result": …} on stdout`);
  return new Again(options);
}

const AGAIN_OPTIONS = ['delay', 'payload', 'result'];

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1) || undefined;
}

function keepHead(stream: Readable, maxBytes: number): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < maxBytes) chunks.push(chunk);
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString();
}

function keepTail(stream: Readable, maxBytes: number): () => string {
  let tail = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-maxBytes);
  });
  return () => tail.toString();
}

/** Pass on an endless line in pieces. */
function logLines(stream: Readable, log: (line: string) => void): void {
  const decoder = new StringDecoder();
  let rest = '';
  const writeLine = (line: string) => {
    if (line.trim() !== '') log(line.trimEnd());
  };
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) writeLine(line);
    if (rest.length > MAX_LINE_BYTES) {
      writeLine(rest);
      rest = '';
    }
  });
  stream.on('end', () => writeLine(rest));
}
