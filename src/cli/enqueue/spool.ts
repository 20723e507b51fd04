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
 * is a line of three parts with tabs between them: where it comes from, what it is but the payload, the payload's text.
 * A line end in that text stands between values, and becomes a blank.
 */
export class Spool {
  readonly #file: FileHandle;
  readonly #heads = new Heads();
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
    const record = `${line}\t${this.#heads.textOf(head)}\t${payload.replaceAll(/[\r\n]/g, ' ')}\n`;
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
        batch.push(this.#taskOf(text!));
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

  #taskOf(record: string): SpooledTask {
    const first = record.indexOf('\t');
    const second = record.indexOf('\t', first + 1);
    const head = this.#heads.read(record.slice(first + 1, second));
    return { ...head, line: Number(record.slice(0, first)), payload: record.slice(second + 1) };
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

type Head = Omit<NewTask, 'payload'>;

/** Writes and reads what tasks are but their payload. Mostly it is what the one before was. */
class Heads {
  #last: Head | undefined;
  #text = '';

  textOf(head: Head): string {
    if (head.type !== this.#last?.type || head.options !== this.#last.options) {
      this.#last = head;
      this.#text = JSON.stringify(head);
    }
    return this.#text;
  }

  read(text: string): Head {
    if (text !== this.#text || this.#last === undefined) {
      this.#last = JSON.parse(text) as Head;
      this.#text = text;
    }
    return this.#last;
  }
}
