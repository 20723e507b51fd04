import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import type { NewTask } from '../../queue/enqueue.ts';
import { splitLines } from './split-lines.ts';

/** A task with the line of the input it comes from. */
export interface SpooledTask extends NewTask {
  readonly line: number;
}

const FLUSH_LENGTH = 256 * 1024;
/** The head of a record may have as much again as the payload. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/**
 * Checked tasks on disk, in a file that no longer has a name: it is gone with the process, however that ends. A record
 * is a line: where it comes from and what it is but the payload, a tab, the payload's text. A line end in that text
 * stands between values, and becomes a blank.
 */
export class Spool {
  readonly #file: FileHandle;
  #waiting: string[] = [];
  #waitingLength = 0;
  #count = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(): Promise<Spool> {
    const path = join(tmpdir(), `taskq-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600).catch(unwritable);
    await unlink(path);
    return new Spool(file);
  }

  get count(): number {
    return this.#count;
  }

  async add({ payload, line, ...head }: SpooledTask): Promise<void> {
    const record = `${JSON.stringify([line, head])}\t${payload.replaceAll(/[\r\n]/g, ' ')}\n`;
    this.#count += 1;
    this.#waiting.push(record);
    this.#waitingLength += record.length;
    if (this.#waitingLength > FLUSH_LENGTH) await this.#flush();
  }

  /** All tasks in their order, in batches of at most so many tasks and so much text. */
  async *batches(most: number, mostLength: number): AsyncGenerator<SpooledTask[]> {
    await this.#flush();
    let batch: SpooledTask[] = [];
    let length = 0;
    const stream = this.#file.createReadStream({ start: 0, autoClose: false });
    for await (const records of splitLines(stream, MAX_RECORD_BYTES)) {
      for (const { text } of records) {
        batch.push(taskOf(text!));
        length += text!.length;
        if (batch.length < most && length < mostLength) continue;
        yield batch;
        batch = [];
        length = 0;
      }
    }
    if (batch.length > 0) yield batch;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingLength = 0;
    if (text !== '') await this.#file.appendFile(text).catch(unwritable);
  }
}

/** A full disk, most likely. */
function unwritable(cause: NodeJS.ErrnoException): never {
  throw new TaskqError(
    'spool_failed',
    `cannot keep the input in ${tmpdir()}: ${cause.code ?? cause.message}`,
    {
      hint: 'TMPDIR names another directory',
      cause,
    },
  );
}

function taskOf(record: string): SpooledTask {
  const tab = record.indexOf('\t');
  const [line, head]: [number, Omit<NewTask, 'payload'>] = JSON.parse(record.slice(0, tab));
  return { line, ...head, payload: record.slice(tab + 1) };
}
