import type { ResultNote } from './storable-result.ts';

/** Describe why a result could not be stored: `larger than 262144 bytes (2000002)`, `it is circular`. */
export function whyNotStored({ reason, bytes }: ResultNote): string {
  return bytes === null ? reason : `${reason} (${bytes})`;
}
