import { badOption } from '../lib/bad-option.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { ActingSettings } from './acting-settings.ts';

/** Every name of these options. */
export type Names<Options> = { readonly [Name in keyof Options]-?: true };

export const ACTING: Names<ActingSettings> = { by: true, reason: true };

/**
 * Returns the options; an untyped caller may give none. Throws TaskqError for another name than those of `names`: one that
 * was misspelt would be ignored.
 */
export function known<Options extends object>(options: Options, names: Names<Options>): Options {
  const unknown = Object.keys(options ?? {}).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return options ?? ({} as Options);
  throw badOption(`unknown option "${unknown.slice(0, 60)}"${didYouMean(unknown, Object.keys(names))}`);
}
