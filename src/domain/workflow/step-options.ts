import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';
import { checkedName } from '../names.ts';
import { ON_DEATH, type OnDeath } from './state.ts';

/** A step that another one waits for, and what its death means for that one. */
export interface Parent<Step extends string = string> {
  readonly step: Step;
  /** Default: `onDeath` of the waiting step. */
  readonly onDeath?: OnDeath;
}

/** A parent as the database reads it. */
export type StoredParent = string | { readonly step: string; readonly on_death?: OnDeath };

/** Parses the parents of a step: names, or objects with one. Throws TaskqError. */
export function parentsOf(value: unknown, what: string): readonly StoredParent[] {
  if (Array.isArray(value)) return value.map((parent: unknown) => parentOf(parent, what));
  throw badOption(`${what} ${shown(value)}: expected an array of names of steps`);
}

function parentOf(parent: unknown, what: string): StoredParent {
  if (typeof parent === 'string') return checkedName('step', parent, what);
  if (typeof parent !== 'object' || parent === null || Array.isArray(parent))
    throw badOption(`${what} ${shown(parent)}: expected the name of a step, or { step, onDeath }`);
  const { step, onDeath, ...others }: Partial<Readonly<Record<string, unknown>>> = { ...parent };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw badOption(`${what}: unknown option ${shown(unknown)}${didYouMean(unknown, ['step', 'onDeath'])}`);
  const name = checkedName('step', step, `${what}.step`);
  if (onDeath === undefined || onDeath === null) return name;
  return { step: name, on_death: onDeathOf(onDeath, `${what}.onDeath`) };
}

/** Parses what the death of a parent means. Throws TaskqError `bad_option`. */
export function onDeathOf(value: unknown, what: string): OnDeath {
  const policy = ON_DEATH.find((known) => known === value);
  if (policy !== undefined) return policy;
  const meant = typeof value === 'string' ? didYouMean(value, ON_DEATH) : '';
  throw badOption(`${what} ${shown(value)}: expected cancel, continue or wait${meant}`);
}
