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

/** Counts the letters inserted, removed or changed and the neighbours swapped that separate two words. */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let above = Array.from({ length: one.length + 1 }, (_, n) => n);
  for (let place = 1; place <= other.length; place += 1) {
    const line = [place];
    for (let nth = 1; nth <= one.length; nth += 1) {
      const isSame = one[nth - 1] === other[place - 1];
      const isSwapped = one[nth - 2] === other[place - 1] && one[nth - 1] === other[place - 2];
      const changed = Math.min(line[nth - 1]! + 1, above[nth]! + 1, above[nth - 1]! + (isSame ? 0 : 1));
      line.push(nth > 1 && isSwapped ? Math.min(changed, before[nth - 2]! + 1) : changed);
    }
    before = above;
    above = line;
  }
  return above[one.length]!;
}

/** Returns ` (did you mean "a" or "b"?)`, or an empty string if no candidate is near. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const names = nearest(word, candidates).map((name) => `"${name}"`);
  return names.length === 0 ? '' : ` (did you mean ${names.join(' or ')}?)`;
}
