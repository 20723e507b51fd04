/** A piece of input that is to become a task. */
export interface InputItem {
  /** How it is called to a user: `line 3`, or `item 3` of an array. */
  readonly kind: 'line' | 'item';
  readonly number: number;
  /** Where its text begins, counted from 1. */
  readonly line: number;
  readonly column: number;
  /** Null: it cannot be read, see `problem`. */
  readonly text: string | null;
  readonly problem?: string;
}

/** A longer piece is no payload, whatever is in it: escapes can make a text six times as long as what is stored. */
export const MAX_ITEM_BYTES = 8 * 1024 * 1024;
