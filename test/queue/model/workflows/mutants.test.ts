import { it } from 'vitest';
import { playAll, useModel } from '../database.ts';
import { expectSeen, type Mutant } from '../expect-seen.ts';
import { seeded } from '../sequences.ts';
import { playAtRandom, specOf } from './play.ts';
import { BEGINNINGS } from './world.ts';

const MUTANTS: readonly Mutant[] = [
  {
    name: 'the end of a step is not asked for',
    file: 'note_steps',
    from: "coalesce(array_agg(e.step) filter (where e.was is not null), '{}')",
    to: "'{}'",
    seen: [0, 2],
  },
  {
    name: 'the parents of a step that is added are not asked for',
    file: 'enqueue_steps',
    from: 'where e.place is null and c.workflow_id = made.workflow_id and c.is_new',
    to: 'where false',
    seen: [1, 1],
  },
  { name: 'an edge is counted twice', file: 'meet_edges', from: ' and not l.is_met', to: '', seen: [1, 34] },
  {
    name: 'a child is released before its last parent has ended',
    file: 'meet_edges',
    from: 'where c.parents_left = 0',
    to: 'where c.parents_left <= 1',
    seen: [2, 4],
  },
  {
    name: 'and its row says that it waits for none',
    file: 'meet_edges',
    from: 'greatest(s.parents_left - c.number, 0)',
    to: '0',
    seen: [1, 2],
  },
  {
    name: 'every child goes on at a death',
    file: 'meet_edges',
    from: "(p.status = 'completed' or l.on_death = 'continue')",
    to: 'true',
    seen: [0, 5],
  },
  {
    name: 'no child goes on at a death',
    file: 'meet_edges',
    from: " or l.on_death = 'continue'",
    to: '',
    seen: [0, 2],
  },
  {
    name: 'a death cancels what is to wait',
    file: 'cancel_below',
    from: "e.on_death = 'cancel'",
    to: "e.on_death <> 'continue'",
    seen: [1, 1],
  },
  {
    name: 'an end cancels like a death',
    file: 'cancel_below',
    from: "where d.status <> 'completed'",
    to: '',
    seen: [0, 6],
  },
  {
    name: 'what a parent cancels counts as a death',
    file: 'note_steps',
    from: "_status <> 'completed' and e.cancelled_by is null",
    to: "_status <> 'completed'",
    seen: [0, 2],
  },
  {
    name: 'a step that dies while it waits still counts as waiting',
    file: 'note_steps',
    from: "-count(*) filter (where e.was = 'waiting')",
    to: '0',
    seen: [0, 1],
  },
  {
    name: 'a release leaves the step counted as waiting',
    file: 'release_tasks',
    from: 'w.waiting_steps - r.number',
    to: 'w.waiting_steps',
    seen: [0, 2],
  },
  {
    name: 'a revived step stays dead for its workflow',
    file: 'revive_steps',
    from: "and l.status = 'dead'",
    to: 'and false',
    seen: [0, 1],
  },
  {
    name: 'the death of a revived step stays counted',
    file: 'revive_steps',
    from: '-count(*) filter (where r.cancelled_by is null)',
    to: '0',
    seen: [0, 1],
  },
  {
    name: 'a revived step waits for no parent',
    file: 'revive_steps',
    from: 'cardinality(w.parents) as parents_left',
    to: '0 as parents_left',
    seen: [0, 1],
  },
  {
    name: 'one death is one too many',
    file: 'fold_workflow_asks',
    from: 'w.deaths - w.spared_deaths > coalesce(w.max_dead, 0)',
    to: 'w.deaths >= coalesce(w.max_dead, 0)',
    seen: [0, 1],
  },
  {
    name: 'it fails once for each death',
    file: 'fold_workflow_asks',
    from: 'and w.failing_at is null',
    to: '',
    seen: [0, 1],
  },
  {
    name: 'an end that is hidden by an addition is not followed',
    file: 'take_workflow_asks',
    from: 'bool_or(t.live < 0)',
    to: 'sum(t.live) < 0',
    seen: [0, 4],
  },
  {
    name: 'an open workflow ends',
    file: 'conclude_workflows',
    from: 'when w.is_open then case',
    to: 'when false then case',
    seen: [1, 1],
  },
  {
    name: 'one that was cancelled goes on with a step that is added late',
    file: 'conclude_workflows',
    from: "when w.cancel_requested_at is not null and w.ended_at is not null then 'cancelled'",
    to: '',
    seen: [1, 21],
  },
  {
    name: 'one whose last step has died is completed',
    file: 'conclude_workflows',
    from: "and s.status <> 'completed' and (",
    to: 'and false and (',
    seen: [0, 1],
  },
  {
    name: 'what ended once does not end again',
    file: 'conclude_workflows',
    from: 'then coalesce(w.ended_at, _ts) end,',
    to: 'then coalesce(w.ended_at, _ts) else w.ended_at end,',
    seen: [0, 2],
  },
  {
    name: 'a step that returns does not wait for a parent that returns with it',
    file: 'wait_again',
    from: "(child.status = 'waiting' or child.task_id = any (_made))",
    to: "child.status = 'waiting'",
    seen: [0, 4],
  },
  {
    name: 'a step that waits goes on without the parent that returns',
    file: 'wait_again',
    from: "(child.status = 'waiting' or child.task_id = any (_made))",
    to: 'child.task_id = any (_made)',
    seen: [2, 4],
  },
  {
    name: 'a retry counts what the asks count too',
    file: 'retry_workflow',
    from: 'deaths = c.deaths - a.deaths',
    to: 'deaths = c.deaths',
    seen: [0, 1],
  },
  {
    name: 'a workflow that is retried stays about to be cancelled',
    file: 'retry_workflow',
    from: 'cancel_requested_at = null, cancel_reason = null,\n    failing_at = null',
    to: 'failing_at = null',
    seen: [0, 4],
  },
  {
    name: 'a workflow that is retried has failed already',
    file: 'retry_workflow',
    from: 'failing_at = null, ended_at',
    to: 'ended_at',
    seen: [0, 1],
  },
  {
    name: 'a workflow that is retried does not end again',
    file: 'retry_workflow',
    from: 'ended_at = null, drop_on = null\n  from (',
    to: 'drop_on = null\n  from (',
    seen: [0, 30],
  },
  {
    name: 'a running step is still to end after a retry',
    file: 'retry_workflow',
    from: 'update taskq.tasks t set cancel_requested_at = null, cancel_reason = null\n  where',
    to: 'update taskq.tasks t set cancel_reason = null\n  where',
    seen: [0, 5],
  },
];

const model = useModel(new URL('driver.sql', import.meta.url));

it.each(MUTANTS)('the replay sees that $name: $file', (mutant) =>
  expectSeen(model.client, mutant, playDrawn, BEGINNINGS.length),
);

async function playDrawn(beginning: number, seeds: readonly number[]): Promise<string | undefined> {
  const { world } = BEGINNINGS[beginning]!;
  await model.client.query('select model.start($1)', [specOf(world)]);
  return playAll(
    model.client,
    seeds.map((seed) => playAtRandom(world, seeded(seed))),
  );
}
