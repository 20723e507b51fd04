import { distance } from 'fastest-levenshtein';

/**
 * Returns the candidates most like `word`, nearest first and at most `limit`, for "did you mean". Empty if none is near
 * enough to be a typo. Ignores case; a candidate that begins with the word is near.
 */
export function nearest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  const asked = word.slice(0, MAX_LENGTH).toLowerCase();
  if (asked === '') return [];
  return [...new Set(candidates)]
    .map((candidate) => ({ candidate, away: awayFrom(asked, candidate.slice(0, MAX_LENGTH).toLowerCase()) }))
    .filter(({ away }) => away <= Math.max(1, Math.min(3, Math.floor(asked.length / 2.5))))
    .sort((a, b) => a.away - b.away || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** A comparison costs the product of the lengths, and the words may be untrusted. */
const MAX_LENGTH = 200;

function awayFrom(asked: string, candidate: string): number {
  if (asked.length >= 3 && candidate.startsWith(asked)) return 1;
  return distance(asked, candidate);
}

/** Returns ` (did you mean "a" or "b"?)`, or an empty string if no candidate is near. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const names = nearest(word, candidates).map((name) => `"${name}"`);
  return names.length === 0 ? '' : ` (did you mean ${names.join(' or ')}?)`;
}
