import { type Cursor, LEVELS, type Position } from '../../queue/protocol/claim.ts';

/** The positions in a queue, by level; null: unknown, or the beginning. */
type Levels = (Position | null)[];

/** How far each level of a queue was searched: each priority, and the asks of groups. */
export class Positions {
  readonly #byQueue = new Map<string, Levels>();

  /** What a claim starts from. It changes with the positions. */
  get cursor(): Cursor {
    return this.#byQueue;
  }

  get queues(): readonly string[] {
    return [...this.#byQueue.keys()];
  }

  /** How many queues it knows. */
  get size(): number {
    return this.#byQueue.size;
  }

  copy(): Cursor {
    return new Map([...this.#byQueue].map(([queue, levels]) => [queue, [...levels]]));
  }

  /** A level was searched up to this position. */
  moveTo(queue: string, level: number, { availableAtUs, id }: Position): void {
    this.#levelsOf(queue)[level] = { availableAtUs, id: safeId(id) };
  }

  /** Every level of a queue whose position is not known begins here. */
  beginAt(queue: string, position: Position): void {
    const levels = this.#levelsOf(queue);
    for (let level = 0; level < LEVELS; level++) levels[level] ??= position;
  }

  /** A task at this position was missed: go back to just before it. */
  goBackBefore(queue: string, level: number, position: Position): void {
    goBackTo(this.#levelsOf(queue), level, justBefore(position));
  }

  /** A task was missed that is due at this time, in some level of the queue. */
  goBackToTime(queue: string, dueUs: number): void {
    const before = { availableAtUs: dueUs - 1, id: 0 };
    const levels = this.#levelsOf(queue);
    for (let level = 0; level < LEVELS; level++) goBackTo(levels, level, before);
  }

  forget(queue: string): void {
    this.#byQueue.delete(queue);
  }

  clear(): void {
    this.#byQueue.clear();
  }

  /** The positions of a queue as numbers, for other workers. */
  stored(queue: string): (number | null)[] {
    return this.#levelsOf(queue).flatMap((position) =>
      position === null ? [null, null] : [position.availableAtUs, position.id],
    );
  }

  /** Start where the slowest of these workers, as they have stored their positions, is in the queue. */
  startAt(queue: string, stored: readonly unknown[]): void {
    const [first, ...others] = stored.map(unflatten);
    if (first === undefined) return;
    const slowest = others.reduce<Levels>(
      (levels, other) => levels.map((position, level) => earlier(position, other[level] ?? null)),
      first,
    );
    this.#byQueue.set(queue, slowest);
  }

  #levelsOf(queue: string): Levels {
    let levels = this.#byQueue.get(queue);
    if (levels === undefined) {
      levels = new Array<Position | null>(LEVELS).fill(null);
      this.#byQueue.set(queue, levels);
    }
    return levels;
  }
}

function goBackTo(levels: Levels, level: number, position: Position | null): void {
  levels[level] = earlier(levels[level] ?? position, position);
}

/** Null for a time before 1970, which is treated as the beginning. */
function justBefore({ availableAtUs, id }: Position): Position | null {
  if (availableAtUs <= 0) return null;
  return id > Number.MIN_SAFE_INTEGER
    ? { availableAtUs, id: safeId(id - 1) }
    : { availableAtUs: availableAtUs - 1, id: 0 };
}

/** A rounded number beyond these may not be a valid bigint. */
function safeId(id: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(id, Number.MAX_SAFE_INTEGER));
}

/** Null comes before everything. */
function earlier(a: Position | null, b: Position | null): Position | null {
  if (a === null || b === null) return null;
  return a.availableAtUs < b.availableAtUs || (a.availableAtUs === b.availableAtUs && a.id <= b.id) ? a : b;
}

/** They may have been stored by a worker written in another language. */
function unflatten(stored: unknown): Levels {
  const flat: readonly unknown[] = Array.isArray(stored) ? stored : [];
  return Array.from({ length: LEVELS }, (_, level) => {
    const [availableAtUs = null, id = null] = flat.slice(2 * level, 2 * level + 2);
    return isWhole(availableAtUs) && isWhole(id) ? { availableAtUs, id } : null;
  });
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
