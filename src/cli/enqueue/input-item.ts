/** A piece of input that will become a task. */
export interface InputItem {
  /** Its name for users: `line 3`, or `item 3` of an array. */
  readonly kind: 'line' | 'item';
  readonly number: number;
  /** The line where its text begins, counted from 1. */
  readonly line: number;
  readonly column: number;
  /** Null: it cannot be read, see `problem`. */
  readonly text: string | null;
  readonly problem?: string;
}

/**
 * The most bytes of an item. A longer one cannot be a payload: escapes make a text at most six times as long as what is
 * stored.
 */
export const MAX_ITEM_BYTES = 8 * 1024 * 1024;
