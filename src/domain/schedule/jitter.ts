import { createHash } from 'node:crypto';

/** How much later than its tick the task of a schedule is due: as `taskq.jitter_of` computes it. */
export function jitterOf(name: string, tick: number, jitterMs: number): number {
  if (jitterMs === 0) return 0;
  const hash = createHash('sha256').update(`${name}@${tick}`).digest();
  return hash.readUInt32BE(0) % jitterMs;
}
