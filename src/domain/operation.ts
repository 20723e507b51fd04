import { badOption } from '../lib/bad-option.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';
import { parseRate } from './queue-limits.ts';

/** The verbs that a stored operation does on many tasks. */
export const OPERATION_VERBS = ['cancel', 'retry', 'edit', 'revive', 'rerun', 'discard', 'purge'] as const;
export type OperationVerb = (typeof OPERATION_VERBS)[number];

/**
 * `canary`: it revives the first tasks, and waits until these have ended. `stopped`: by someone, or because too many
 * died again. `failed`: it cannot continue.
 */
export const OPERATION_STATES = ['running', 'canary', 'completed', 'stopped', 'failed'] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** A task on which an operation could not act. */
export interface OperationFailure {
  readonly id: string;
  /** `key_held`: another task has its key. `locked`: for a minute, by another transaction. */
  readonly answer: 'key_held' | 'refused' | 'locked';
  /** Null: the answer is complete. */
  readonly error: string | null;
}

/** Returns the state of this name. Throws TaskqError `bad_option`. */
export function checkedOperationState(text: string, what = 'state'): OperationState {
  const known = OPERATION_STATES.find((state) => state === text);
  if (known !== undefined) return known;
  throw badOption(
    `${what} ${shown(text)}: expected one of ${OPERATION_STATES.join(', ')}${didYouMean(text, OPERATION_STATES)}`,
  );
}

/** How fast an operation goes, and what stops it. */
export interface OperationLimits {
  /** At most n tasks in a period, such as `50/1m`. */
  readonly rate?: string;
  /** Of a revive: how many to revive first; the others follow when these have ended. 1 to 1000. */
  readonly canary?: number;
  /**
   * Of a revive: the share of the revived tasks that may die again, such as `20%`; more stop it. Default with a canary:
   * `0%`, so any death; without: it does not look.
   */
  readonly stopAt?: string;
}

/** Limits as the database stores them. */
export interface StoredLimits {
  readonly rate: string | undefined;
  readonly canary: number | undefined;
  /** A percentage. */
  readonly stop_at: number | undefined;
}

/** Checks limits. Throws TaskqError `bad_option`; messages name a limit by `called`. */
export function storedLimits(
  verb: OperationVerb,
  { rate, canary, stopAt }: OperationLimits,
  called: (name: keyof OperationLimits) => string = (name) => name,
): StoredLimits {
  if (verb !== 'revive' && canary !== undefined)
    throw badOption(`${called('canary')}: only a revive has a canary`);
  if (verb !== 'revive' && stopAt !== undefined)
    throw badOption(`${called('stopAt')}: only what is revived can die again`);
  return {
    rate: rate === undefined ? undefined : parseRate(rate, called('rate')),
    canary: canary === undefined ? undefined : checkedCanary(canary, called('canary')),
    stop_at: stopAt === undefined ? undefined : percentage(stopAt, called('stopAt')),
  };
}

function checkedCanary(canary: number, what: string): number {
  if (Number.isInteger(canary) && canary >= 1 && canary <= 1000) return canary;
  throw badOption(`${what} ${shown(canary)}: expected a whole number from 1 to 1000`);
}

function percentage(input: string, what: string): number {
  const [, number] = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(String(input).trim()) ?? [];
  if (number !== undefined && Number(number) <= 100) return Number(number);
  throw badOption(`${what} ${shown(input)}: expected a percentage from 0% to 100%, such as 20%`);
}

/** Checks a JSON merge patch (RFC 7386) of payloads, as JSON text. Throws TaskqError `bad_option`. */
export function checkedPatch(text: string, what: string): string {
  if (text.trimStart().startsWith('{')) return text;
  throw badOption(
    `${what} ${shown(text)}: expected an object, such as {"currency": "EUR", "discount": null}`,
  );
}
