import { toDurationMs } from '../lib/duration.ts';
import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';

export type BackoffKind = 'fixed' | 'linear' | 'quadratic' | 'exponential';

/** How long a task waits after its n-th failure, before jitter. Durations are text or milliseconds. */
export interface Backoff {
  /** fixed: base; linear: base × n; quadratic: base × n²; exponential: base × factor^(n − 1). */
  readonly kind: BackoffKind;
  /** Wait after the first failure. */
  readonly base: string | number;
  /** From 1 to 100, for exponential only; default 2. */
  readonly factor?: number;
  /** Longest wait; default 1 h, or the base if that is longer. */
  readonly max?: string | number;
  /** From 0 to 1: how far a wait varies randomly in each direction, as a share of it; default 0.2. */
  readonly jitter?: number;
}

/** A back-off as stored in the database (jsonb). */
export interface StoredBackoff {
  readonly kind: BackoffKind;
  readonly base_ms: number;
  /** 1 unless exponential. */
  readonly factor: number;
  readonly max_ms: number;
  readonly jitter: number;
}

/**
 * Checks a back-off, an object or text (see `parseBackoff`), and fills in its defaults. Throws TaskqError `bad_backoff`
 * or `bad_duration`.
 */
export function normaliseBackoff(input: unknown, what = 'backoff'): StoredBackoff {
  if (typeof input === 'string') return parseBackoff(input, what);
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new TaskqError('bad_backoff', `${what} ${shown(input)}: expected an object such as ${EXAMPLE}`);
  }
  const { kind, base, factor, max, jitter, ...others } = input as Partial<Record<keyof Backoff, unknown>>;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw refused(what, `unknown key "${unknown}"${didYouMean(unknown, KEYS)}`);
  if (!isKind(kind))
    throw refused(
      what,
      `kind ${JSON.stringify(kind)}: expected one of ${KINDS.join(', ')}${kindMeant(kind)}`,
    );
  if (base === undefined) throw refused(what, `base is missing, expected a duration as in ${EXAMPLE}`);
  const baseMs = toDurationMs(base, `${what} base`);
  const maxMs = max === undefined ? Math.max(baseMs, DEFAULT_MAX_MS) : toDurationMs(max, `${what} max`);
  if (maxMs < baseMs) throw refused(what, 'max is shorter than base');
  return {
    kind,
    base_ms: baseMs,
    factor: factorOf(what, kind, factor),
    max_ms: maxMs,
    jitter: jitterOf(what, jitter),
  };
}

const KINDS: readonly BackoffKind[] = ['fixed', 'linear', 'quadratic', 'exponential'];
const KEYS: readonly (keyof Backoff)[] = ['kind', 'base', 'factor', 'max', 'jitter'];
const EXAMPLE = '{ kind: "exponential", base: "5s", max: "1h", jitter: 0.2 }';
const LINE_JSON = '{"kind": "exponential", "base": "5s"}';
const LINE = 'exponential,5s,factor=2,max=1h,jitter=0.2';
const DEFAULT_MAX_MS = 3_600_000;

/**
 * Parses a back-off as on a command line: `kind,base`, then `factor=2`, `max=1h` and `jitter=0.2` in any order, as in
 * `exponential,5s,max=1h`; or the object as JSON. Throws TaskqError `bad_backoff` or `bad_duration`.
 */
function parseBackoff(text: string, what: string): StoredBackoff {
  if (text.trimStart().startsWith('{')) return normaliseBackoff(jsonIn(what, text), what);
  const [kind, base, ...others] = text.split(',').map((part) => part.trim());
  const named = others.map((part) => {
    const [, key = '', value = ''] = /^(\w+)=(.+)$/.exec(part) ?? [];
    if (key !== '') return [key, key === 'max' ? value : numberIn(value)] as const;
    throw refused(what, `${JSON.stringify(part)}: expected factor=, max= or jitter= as in ${LINE}`);
  });
  if (base === undefined)
    throw refused(what, `${JSON.stringify(text)}: expected a kind and a base as in ${LINE}`);
  return normaliseBackoff({ kind, base, ...Object.fromEntries(named) }, what);
}

function jsonIn(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused(what, `${text.slice(0, 60)}: expected JSON such as ${LINE_JSON}, or ${LINE}`);
  }
}

/** Text that is not a number stays as it is, so that the error quotes it. */
function numberIn(text: string): number | string {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function kindMeant(kind: unknown): string {
  return typeof kind === 'string' ? didYouMean(kind, KINDS) : '';
}

function isKind(kind: unknown): kind is BackoffKind {
  return KINDS.some((known) => known === kind);
}

function factorOf(what: string, kind: BackoffKind, factor: unknown): number {
  if (kind !== 'exponential') {
    if (factor !== undefined) throw refused(what, `factor has no meaning for ${kind}, only for exponential`);
    return 1;
  }
  return numberOf(what, 'factor', factor ?? 2, [1, 100]);
}

function jitterOf(what: string, jitter: unknown): number {
  return numberOf(what, 'jitter', jitter ?? 0.2, [0, 1]);
}

function numberOf(what: string, key: string, value: unknown, [from, to]: readonly [number, number]): number {
  if (typeof value === 'number' && value >= from && value <= to) return value;
  throw refused(what, `${key} ${JSON.stringify(value)}: expected a number from ${from} to ${to}`);
}

function refused(what: string, problem: string): TaskqError {
  return new TaskqError('bad_backoff', `${what}: ${problem}`);
}
