import fc from 'fast-check';
import { expect, test } from 'vitest';
import { enqueueSome, lapse, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Claimed, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** In minutes. An hour passes at a time, so no result depends on how long the test itself takes. */
const RULE = { failures: 2, within: 210, probeAfter: 150 };
const HOUR = 60;

/** What a breaker should be, by the rules of docs/operating.md. */
interface Model {
  now: number;
  failedAt: number[];
  isOpen: boolean;
  probe: string | undefined;
  probedAt: number;
  /** The probe has ended for good, and has not completed. */
  isProbeGone: boolean;
  /** What was settled since the last claim. */
  reports: ({ readonly failedAt: number } | { readonly completed: string })[];
}

function attend(model: Model): void {
  const failures = model.reports.flatMap((report) => ('failedAt' in report ? [report.failedAt] : []));
  model.failedAt = [...model.failedAt, ...failures].sort((a, b) => a - b).slice(-RULE.failures);
  if (model.isOpen) {
    if (model.reports.some((report) => 'completed' in report && report.completed === model.probe))
      close(model);
  } else if (
    model.failedAt.length === RULE.failures &&
    model.failedAt.at(-1)! - model.failedAt[0]! <= RULE.within
  ) {
    model.isOpen = true;
  }
  model.reports = [];
}

function close(model: Model): void {
  Object.assign(model, { isOpen: false, failedAt: [], probe: undefined, isProbeGone: false, reports: [] });
}

/** Whether a claim takes a task now; the model has attended to all reports. */
function takes(model: Model, held: readonly Claimed[]): boolean {
  if (!model.isOpen) return true;
  const isTried = held.some(({ id }) => id === model.probe);
  const last = Math.max(model.failedAt.at(-1)!, model.isProbeGone ? model.probedAt : 0);
  return !isTried && model.now - last >= RULE.probeAfter;
}

const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant({ kind: 'claim', pick: 0 }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('failed'), pick: fc.nat() }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          'completed',
          'completed',
          'completed',
          'snoozed',
          'cancelled',
          'dead',
          'lost',
          'given back',
        ),
        pick: fc.nat(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass'), pick: fc.constantFrom(1, 2, 3, 3, 3) }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'resume', pick: 0 }) },
  ),
  { minLength: 40, maxLength: 80 },
);

test('opens, probes and closes as its rules say, whatever happens to its tasks', async () => {
  const seen = { opened: 0, probes: 0, closed: 0 };
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await queue.admin.rows('delete from taskq.tasks');
      await queue.admin.rows('delete from taskq.breakers');
      await queue.admin.rows('delete from taskq.breaker_events');
      const worker = await registerWorker(queue.admin);
      await queue.admin.rows('select taskq.set_type($1, $2)', 'work', {
        breaker: {
          failures: RULE.failures,
          within_ms: RULE.within * 60_000,
          probe_after_ms: RULE.probeAfter * 60_000,
        },
      });
      await enqueueSome(queue.admin, taken.length);
      const model: Model = {
        ...{ now: 0, failedAt: [], isOpen: false, reports: [] },
        ...{ probe: undefined, probedAt: 0, isProbeGone: false },
      };
      const held: Claimed[] = [];
      for (const { kind, pick } of taken) {
        if (kind === 'claim') {
          const wasOpen = model.isOpen;
          attend(model);
          const expected = takes(model, held) ? 1 : 0;
          // A search for a probe that is slow, as on a busy machine, is not repeated at once.
          await queue.admin.rows('update taskq.breakers set probe_from = null');
          const claimed = await worker.claim({ start: 1 });
          expect(claimed).toHaveLength(expected);
          if (model.isOpen && expected === 1)
            Object.assign(model, { probe: claimed[0]!.id, probedAt: model.now, isProbeGone: false });
          held.push(...claimed);
          seen.opened += Number(!wasOpen && model.isOpen);
          seen.closed += Number(wasOpen && !model.isOpen);
          seen.probes += Number(model.isOpen && expected === 1);
        } else if (kind === 'pass') {
          model.now += pick * HOUR;
          const earlier = "interval '1 hour' * $1";
          await queue.admin.rows(`update taskq.breaker_events set at = at - ${earlier}`, pick);
          await queue.admin.rows(
            `update taskq.breakers
             set failed_at = array(select f - ${earlier} from unnest(failed_at) as f), probed_at = probed_at - ${earlier}`,
            pick,
          );
        } else if (kind === 'resume') {
          const resumed = await queue.admin.value<boolean>("select taskq.resume_type('work')");
          expect(resumed).toBe(model.isOpen);
          if (resumed) close(model);
        } else {
          // Every other time the newest, which may be a probe.
          const place = pick % 2 === 0 ? held.length - 1 : pick % Math.max(1, held.length);
          const [task] = held.splice(Math.max(0, place), 1);
          if (task === undefined) continue;
          if (kind === 'lost') {
            await lapse(queue.admin, [task.id]);
            await rescueAll(queue.admin, worker.id);
          } else if (kind === 'given back') await worker.giveBack([task]);
          else
            await worker.settle(
              outcome(task, kind, {
                error: {},
                reason: 'r',
                delay_ms: kind === 'snoozed' ? 0 : 3_600_000_000,
              }),
            );
          const isGone = ['dead', 'cancelled'].includes(kind) || (kind === 'lost' && task.losses === 2);
          if (isGone && task.id === model.probe) model.isProbeGone = true;
          if (kind === 'failed') model.reports.push({ failedAt: model.now });
          if (kind === 'completed') model.reports.push({ completed: task.id });
        }
      }
    }),
    { numRuns: 100 },
  );
  // Each of these was reached.
  expect(
    Object.values(seen).every((count) => count > 0),
    JSON.stringify(seen),
  ).toBe(true);
});
