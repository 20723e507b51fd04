import { formatDuration, toDurationMs } from '../lib/duration.ts';
import { isJsonObject } from '../lib/json.ts';

/** Where a value comes from, as shown to users. */
export type SettingSource = 'default' | `file ${string}` | `environment ${string}` | `flag ${string}`;

/** Defines one setting. */
export interface Setting<Key extends string, Input, Value> {
  /** Key in a configuration file; the flag has the same name in kebab case. */
  readonly key: Key;
  /** Environment variables, highest precedence first. */
  readonly env: readonly string[];
  /** Null if the binary has no flag for it. */
  readonly flag: `--${string}` | null;
  readonly default: Value;
  /** Describes a valid value, for messages: "expected …". */
  readonly expects: string;
  readonly help: string;
  /** Parses a value from a file, a flag or the environment (always text there). Returns undefined if it is invalid. */
  readonly parse: (input: unknown) => Value | undefined;
  /** Formats a value for people, without secrets. */
  readonly show: (value: NonNullable<Value>) => string;
  /** Never set: carries the type of the value in a configuration file written in TypeScript. */
  readonly input?: Input;
}

type Named<Key extends string> = Pick<Setting<Key, unknown, unknown>, 'key' | 'env' | 'flag' | 'help'>;

export function textSetting<Key extends string>(
  named: Named<Key> & { readonly expects: string; readonly show?: (value: string) => string },
): Setting<Key, string, string | null> {
  return {
    show: (value) => value,
    ...named,
    default: null,
    parse: (input) => (typeof input === 'string' && input.trim() !== '' ? input.trim() : undefined),
  };
}

export function choiceSetting<Key extends string, Choice extends string, Default extends Choice | null>(
  named: Named<Key> & { readonly choices: readonly Choice[]; readonly default: Default },
): Setting<Key, Choice, Choice | Default> {
  const { choices, ...rest } = named;
  return {
    ...rest,
    expects: choices.join(', ').replace(/, ([^,]+)$/, ' or $1'),
    parse: (input) => choices.find((choice) => choice === input),
    show: (value) => value,
  };
}

/** A duration, in milliseconds. */
export function durationSetting<Key extends string, Default extends number | null>(
  named: Named<Key> & { readonly default: Default; readonly atLeastMs: number; readonly atMostMs?: number },
): Setting<Key, string | number, number | Default> {
  const { atLeastMs, atMostMs = Infinity, ...rest } = named;
  const least = atLeastMs > 0 ? ` of at least ${formatDuration(atLeastMs)}` : '';
  const most = atMostMs < Infinity ? ` and at most ${formatDuration(atMostMs)}` : '';
  return {
    ...rest,
    expects: `a duration${least}${most} such as 500ms, 30s, 1h30m or PT10M`,
    parse: (input) => durationFrom(atLeastMs, atMostMs, input),
    show: (value) => formatDuration(value),
  };
}

/** A whole number, or one of certain words. */
export function countSetting<Key extends string, Word extends string, Default extends number | Word | null>(
  named: Named<Key> & {
    readonly default: Default;
    readonly from: number;
    readonly to: number;
    readonly words: readonly Word[];
  },
): Setting<Key, number | Word, number | Word | Default> {
  const { from, to, words, ...rest } = named;
  return {
    ...rest,
    expects: [`a whole number from ${from} to ${to}`, ...words].join(' or '),
    parse: (input) => words.find((word) => word === input) ?? countFrom(from, to, input),
    show: String,
  };
}

/** A list, or names in text separated by commas. */
export function listSetting<Key extends string>(
  named: Named<Key>,
): Setting<Key, string | readonly string[], readonly string[] | null> {
  return {
    ...named,
    default: null,
    expects: 'a list of names, or names separated by commas',
    parse: listFrom,
    show: (value) => value.join(','),
  };
}

/** An object of a configuration file; JSON text in the environment. */
export function objectSetting<Key extends string, Value extends object>(
  named: Named<Key> & { readonly expects: string },
): Setting<Key, Value, Value | null> {
  return { ...named, default: null, parse: (input) => objectFrom<Value>(input), show: JSON.stringify };
}

function durationFrom(atLeastMs: number, atMostMs: number, input: unknown): number | undefined {
  try {
    const ms = toDurationMs(input);
    return ms >= atLeastMs && ms <= atMostMs ? ms : undefined;
  } catch {
    return undefined;
  }
}

function countFrom(from: number, to: number, input: unknown): number | undefined {
  const count = typeof input === 'string' && /^\d+$/.test(input.trim()) ? Number(input) : input;
  return typeof count === 'number' && Number.isInteger(count) && count >= from && count <= to
    ? count
    : undefined;
}

function listFrom(input: unknown): readonly string[] | undefined {
  const items: unknown = typeof input === 'string' ? input.split(',') : input;
  if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) return undefined;
  const names = items.map((item) => item.trim());
  return names.length === 0 || names.includes('') ? undefined : [...new Set(names)];
}

function objectFrom<Value extends object>(input: unknown): Value | undefined {
  const value = typeof input === 'string' ? jsonFrom(input) : input;
  return isJsonObject(value) ? (value as Value) : undefined;
}

function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
