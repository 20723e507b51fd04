import { witness } from './_witness.mjs';

/** Keeps its thread busy for `ms`, or `cpuMs` of work, and listens to nobody meanwhile; for ever without. */
export default async function spin({ ms = Infinity, cpuMs = Infinity }, ctx) {
  await witness(ctx, 'start');
  const end = performance.now() + ms;
  const before = process.cpuUsage();
  while (performance.now() < end && process.cpuUsage(before).user < 1000 * cpuMs);
  await witness(ctx, 'end');
  return { pid: process.pid };
}
