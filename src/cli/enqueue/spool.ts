import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { BULK_LENGTH, BULK_TASKS, type Bulk, bulkOf, type NewTask } from '../../queue/protocol/enqueue.ts';
import { TaskLines } from './task-lines.ts';

/** A bulk whose tasks are on disk. */
interface Written {
  readonly options: string;
  readonly start: number;
  count: number;
  bytes: number;
}

/** A piece of a bulk ends at this many tasks, or this many characters of payloads; memory holds only a few pieces. */
const PIECE_TASKS = 1000;
const PIECE_LENGTH = 1024 * 1024;

/**
 * Checked tasks on disk, in an unlinked file that vanishes with the process, however it ends. It holds them in the form
 * that is sent to the database.
 */
export class Spool {
  readonly #file: FileHandle;
  readonly #written: Written[] = [];
  readonly #lines = new TaskLines();
  /** Pieces not yet on disk. */
  #waiting: Bulk[] = [];
  /** The piece being filled. */
  #tasks: NewTask[] = [];
  #length = 0;
  #bytes = 0;
  #count = 0;
  #buffer = Buffer.alloc(0);

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

  /** Keep a task in memory until the next `write`. */
  add(task: NewTask, line: number): void {
    this.#tasks.push(task);
    this.#lines.add(line);
    this.#length += task.payload.length;
    this.#count += 1;
    if (this.#tasks.length >= PIECE_TASKS || this.#length >= PIECE_LENGTH) this.#endPiece();
  }

  /** Write the added tasks to disk, except the piece being filled. */
  async write(): Promise<void> {
    for (const piece of this.#waiting.splice(0)) await this.#writePiece(piece);
  }

  /** All tasks in their order. */
  async *bulks(): AsyncGenerator<Bulk> {
    if (this.#tasks.length > 0) this.#endPiece();
    await this.write();
    for (const { count, options, start, bytes } of this.#written) {
      yield { count, values: [`[${await this.#read(start, bytes)}]`, options] };
    }
  }

  /** The input line of a task, by its index from 0. */
  lineOf(index: number): number {
    return this.#lines.at(index);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #endPiece(): void {
    // Allow unknown types: the check has looked them up.
    this.#waiting.push(bulkOf(this.#tasks, true));
    this.#tasks = [];
    this.#length = 0;
  }

  /** Append to the last bulk if its tasks have the same common options. */
  async #writePiece({ count, values }: Bulk): Promise<void> {
    const [tasks, options] = values;
    const last = this.#written.at(-1);
    const goesOn = last?.options === options && last.count + count <= BULK_TASKS && last.bytes < BULK_LENGTH;
    const bytes = await this.#append(`${goesOn ? ',' : ''}${tasks.slice(1, -1)}`);
    if (goesOn) {
      last.count += count;
      last.bytes += bytes;
    } else this.#written.push({ options, start: this.#bytes, count, bytes });
    this.#bytes += bytes;
  }

  async #append(text: string): Promise<number> {
    const bytes = Buffer.byteLength(text);
    const buffer = this.#bufferOf(bytes);
    buffer.write(text);
    await this.#file.appendFile(buffer.subarray(0, bytes)).catch(unwritable);
    return bytes;
  }

  async #read(start: number, bytes: number): Promise<string> {
    const buffer = this.#bufferOf(bytes);
    for (let read = 0; read < bytes; ) {
      const { bytesRead } = await this.#file.read(buffer, read, bytes - read, start + read);
      if (bytesRead === 0) throw new Error(`the spool ends at byte ${start + read}`);
      read += bytesRead;
    }
    return buffer.toString('utf8', 0, bytes);
  }

  /** Share one buffer: V8 frees memory outside its heap late. */
  #bufferOf(bytes: number): Buffer {
    if (this.#buffer.length < bytes) this.#buffer = Buffer.allocUnsafe(2 * bytes);
    return this.#buffer;
  }
}

/** The usual cause is a full disk. */
function unwritable(cause: NodeJS.ErrnoException): never {
  throw new TaskqError(
    'spool_failed',
    `cannot store the input in ${tmpdir()}: ${cause.code ?? cause.message}`,
    {
      hint: 'set TMPDIR to another directory',
      cause,
    },
  );
}
