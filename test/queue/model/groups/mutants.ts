import type { Event, Outcome } from './step.ts';
import { BEGINNINGS, type World } from './world.ts';

/** A mistake in a SQL function, every occurrence of a text replaced, and the events that show it. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly world: World;
  readonly events: readonly Event[];
}

const [STRICT, RELAXED, HELD] = BEGINNINGS.map(({ world }) => world) as [World, World, World];

type Enqueue = Event & { verb: 'enqueue' };
const add = (options: Partial<Enqueue> = {}): Enqueue => ({
  ...{ verb: 'enqueue', door: 'keyed', group: 'a', type: 'one', priority: 2, due: 0, expires: null },
  ...options,
});
const replace = (id: number, due = 0): Event => ({
  verb: 'replace',
  id,
  policy: 'replace',
  priority: 2,
  due,
});
const claim: Event = { verb: 'claim', types: ['one'], ahead: false };
const ahead: Event = { verb: 'claim', types: ['one'], ahead: true };
/** A claim of types that no task has: slots are given out, and nobody takes them. */
const fill: Event = { verb: 'claim', types: [], ahead: false };
const settle = (id: number, outcome: Outcome): Event => ({ verb: 'settle', id, outcome });
const back: Event = { verb: 'give_back', id: 1, last: false };
const day: Event = { verb: 'day' };
const die = (id: number): Event => ({ verb: 'add_dead', id });
const revive = (due: number): Event => ({ verb: 'revive', id: 1, due });
const limit = (most: number): Event => ({ verb: 'set_group', group: 'a', limit: most });
const pause: Event = { verb: 'pause_group', group: 'a' };
const resume: Event = { verb: 'resume_group', group: 'a' };
const twoOf: Event = { verb: 'set_queue', settings: { ...STRICT.settings, limit: 2 } };

/** An ask that is left out, named after the task or the group that it is for. */
export const UNASKED: readonly Mutant[] = [
  {
    name: 'one task',
    file: 'enqueue',
    from: 'perform taskq.ask_for(array[id], ts, false)',
    to: 'null',
    world: STRICT,
    events: [add({ door: 'one' }), claim],
  },
  {
    name: 'many tasks',
    file: 'insert_plain',
    from: 'perform taskq.ask_for(ids, _ts, false)',
    to: 'null',
    world: STRICT,
    events: [add({ door: 'many' }), claim],
  },
  {
    name: 'tasks with keys',
    file: 'insert_keyed',
    from: 'perform taskq.ask_for(grouped, ts, false)',
    to: 'null',
    world: STRICT,
    events: [add(), claim],
  },
  {
    name: 'tasks that may replace others',
    file: 'enqueue_replacing',
    from: 'taskq.ask_for(array_agg(r.id), ts, false)',
    to: 'array_agg(r.id)',
    world: STRICT,
    events: [add({ door: 'replacing' }), claim],
  },
  {
    name: 'what is replaced',
    file: 'take_again',
    from: 'perform taskq.ask_for(_ids, _ts, false)',
    to: 'perform 1',
    world: STRICT,
    events: [add({ due: 1 }), replace(1), claim],
  },
  {
    name: 'the slot of what is replaced',
    file: 'take_again',
    from: "t.gate in ('h', 's') and",
    to: 'false and',
    world: STRICT,
    events: [add(), add(), fill, replace(1, 1), fill],
  },
  {
    name: 'the slot of what ends',
    file: 'leave',
    from: 'where e.has_slot and',
    to: 'where false and',
    world: STRICT,
    events: [add(), add(), claim, settle(1, 'completed'), fill],
  },
  {
    name: 'what comes after it',
    file: 'leave',
    from: 'taskq.ask_for(array_agg(r.id), _ts, false)',
    to: 'array_agg(r.id)',
    world: STRICT,
    events: [add(), claim, replace(1, 1), settle(1, 'completed'), fill, day, claim],
  },
  {
    name: 'what completes',
    file: 'complete',
    from: 'if tied is not null',
    to: 'if false',
    world: STRICT,
    events: [add(), add(), claim, settle(1, 'completed'), fill],
  },
  {
    name: 'what dies',
    file: 'move_to_dead',
    from: 'if tied is not null',
    to: 'if false',
    world: STRICT,
    events: [add(), add(), claim, settle(1, 'dead'), fill],
  },
  {
    name: 'what is cancelled or expires',
    file: 'move_to_finished',
    from: 'if page.tied is not null',
    to: 'if false',
    world: STRICT,
    events: [add(), add(), claim, settle(1, 'cancelled'), fill],
  },
  {
    name: 'a retry in its slot',
    file: 'free_slots',
    from: "t.gate in ('h', 's')\n    union",
    to: 'false\n    union',
    world: STRICT,
    events: [add(), claim, pause, fill, settle(1, 'failed'), fill],
  },
  {
    name: 'the time of one that stops its group',
    file: 'free_slots',
    from: "t.gate = 's'\n  )",
    to: 'false\n  )',
    world: HELD,
    events: [add(), claim, settle(1, 'stopping'), add(), fill, day, day, fill],
  },
  {
    name: 'a retry without a slot',
    file: 'free_slots',
    from: 'perform taskq.ask_for(freed, _ts, false)',
    to: 'null',
    world: RELAXED,
    events: [add(), claim, settle(1, 'crashed'), day, claim],
  },
  {
    name: 'what is given back or rescued',
    file: 'put_back',
    from: 'taskq.ask_for(array_agg(t.id), _ts, false)',
    to: 'array_agg(t.id)',
    world: STRICT,
    events: [add(), claim, pause, fill, back, fill],
  },
  {
    name: 'its expiry',
    file: 'fill_groups',
    from: "t.expires_at < 'infinity' and",
    to: 'false and',
    world: STRICT,
    events: [add({ expires: 1 }), add(), ahead, back, fill, day, fill],
  },
  {
    name: "an operator's retry",
    file: 'retry',
    from: 'perform taskq.ask_for(retried, ts, false)',
    to: 'null',
    world: STRICT,
    events: [add({ due: 1 }), { verb: 'retry', id: 1 }, claim],
  },
  {
    name: 'what is revived',
    file: 'revive_batch',
    from: 'perform taskq.ask_for(back, ts, false)',
    to: 'null',
    world: STRICT,
    events: [add(), die(1), fill, revive(0), claim],
  },
  {
    name: 'the group of what is revived for later',
    file: 'revive_batch',
    from: "t.gate = 'd';",
    to: 'false;',
    world: HELD,
    events: [add(), add(), die(1), fill, revive(1), fill],
  },
  {
    name: 'the group of what is discarded',
    file: 'discard',
    from: 'where gone.group_key is not null',
    to: 'where false',
    world: HELD,
    events: [add(), add(), die(1), fill, { verb: 'discard', id: 1 }, fill],
  },
  {
    name: 'of what has outlived',
    file: 'discard_batch',
    from: 'where gone.group_key is not null',
    to: 'where false',
    world: HELD,
    events: [add(), add(), die(1), fill, { verb: 'outlive', id: 1 }, fill],
  },
  {
    name: 'of what is added to the dead',
    file: 'add_dead',
    from: 'd.group_key is not null',
    to: 'false',
    world: HELD,
    events: [add(), add(), add(), fill, die(3), fill],
  },
  {
    name: 'its group',
    file: 'set_group',
    from: ' values (ts, _queue, _group);',
    to: ' select ts, _queue, _group where false;',
    world: STRICT,
    events: [add(), add(), fill, limit(2), fill],
  },
  {
    name: 'its group',
    file: 'pause_group',
    from: ' values (ts, _queue, _group);',
    to: ' select ts, _queue, _group where false;',
    world: STRICT,
    events: [add(), fill, pause, fill],
  },
  {
    name: 'its group',
    file: 'resume_group',
    from: ' values (ts, _queue, _group);',
    to: ' select ts, _queue, _group where false;',
    world: STRICT,
    events: [pause, add(), fill, resume, fill],
  },
  {
    name: 'all groups',
    file: 'apply_queues',
    from: 'where w.changed',
    to: 'where false',
    world: STRICT,
    events: [add(), add(), fill, twoOf],
  },
  {
    name: 'each of them',
    file: 'ask_groups',
    from: 'from unnest(keys) as g (key)',
    to: 'from unnest(keys) as g (key) where false',
    world: STRICT,
    events: [add(), add(), fill, twoOf],
  },
  {
    name: 'the time of a retry whose slot is taken back',
    file: 'take_slots_back',
    from: "where l.gate = 'd'",
    to: 'where false',
    world: STRICT,
    events: [add(), claim, settle(1, 'crashed'), pause, fill, resume, day, claim],
  },
  {
    name: 'the expiry of what has a slot',
    file: 'fill_groups',
    from: 't.expires_at < ',
    to: 'false and t.expires_at < ',
    world: STRICT,
    events: [add({ expires: 1 }), add(), fill, day, fill],
  },
];

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'slots are not counted',
    file: 'fill_groups',
    from: '(count(*) filter (where l.most < unlimited or t.lease_owner is null))::integer as held',
    to: '0 as held',
    world: STRICT,
    events: [add(), claim, add(), claim],
  },
  {
    name: 'the slot of one that stops its group is not counted',
    file: 'slot_holders',
    from: "'{h,s}'",
    to: "'{h}'",
    world: HELD,
    events: [add(), add(), claim, settle(1, 'stopping'), day, day, add(), fill],
  },
  {
    name: 'no slot is taken back',
    file: 'fill_groups',
    from: 'true = any (swaps)',
    to: 'false',
    world: STRICT,
    events: [add(), fill, add({ priority: 1 }), fill],
  },
  {
    name: 'none from what has expired',
    file: 'fill_groups',
    from: 'h.has_idle or',
    to: '',
    world: STRICT,
    events: [add({ expires: 1 }), add(), fill, day, fill],
  },
  {
    name: 'none where the limit was lowered',
    file: 'fill_groups',
    from: 'or h.held > m.most',
    to: '',
    world: HELD,
    events: [add(), add(), fill, limit(1), fill],
  },
  {
    name: 'none where another one is free',
    file: 'fill_groups',
    from: 'free.slots < greatest(share, 10)',
    to: 'free.slots = 0',
    world: RELAXED,
    events: [add(), fill, add({ priority: 1 }), add({ priority: 1 }), fill],
  },
  {
    name: 'one from what has started',
    file: 'may_lose_slot',
    from: '_started_at is null or',
    to: 'true or',
    world: STRICT,
    events: [add(), claim, settle(1, 'failed'), add({ priority: 1 }), fill],
  },
  {
    name: 'none from one that stopped its group, which something else stops now',
    file: 'may_lose_slot',
    from: 'else _slots = 0 and _available_at <= _ts',
    to: 'else false',
    world: STRICT,
    events: [add(), claim, settle(1, 'stopping'), pause, day, day, fill],
  },
  {
    name: 'one from what stops its group, before its time',
    file: 'may_lose_slot',
    from: '_slots = 0 and _available_at <= _ts',
    to: '_slots = 0',
    world: STRICT,
    events: [add(), claim, settle(1, 'stopping'), fill],
  },
  {
    name: 'the oldest is the first',
    file: 'fill_groups',
    from: 'order by t.priority, t.id',
    to: 'order by t.id',
    world: STRICT,
    events: [add(), add({ priority: 1 }), claim],
  },
  {
    name: 'a paused group goes on',
    file: 'group_slots',
    from: 'o.paused_at is not null',
    to: 'false',
    world: STRICT,
    events: [pause, add(), claim],
  },
  {
    name: 'one with a dead letter does',
    file: 'group_slots',
    from: 'and not d.superseded',
    to: 'and false',
    world: HELD,
    events: [add(), die(1), add(), claim],
  },
  {
    name: 'a dead letter with a newer task stops it',
    file: 'group_slots',
    from: 'and not d.superseded',
    to: '',
    world: HELD,
    events: [add(), claim, replace(1), settle(1, 'dead'), claim],
  },
  {
    name: 'one that is stopped by a task goes on',
    file: 'group_slots',
    from: "t.gate = 's'",
    to: 'false',
    world: HELD,
    events: [add(), claim, settle(1, 'stopping'), add(), claim],
  },
  {
    name: 'its own limit is not known',
    file: 'group_slots',
    from: 'o.group_limit,',
    to: 'null,',
    world: STRICT,
    events: [limit(2), add(), add(), claim],
  },
  {
    name: 'a delay is no delay',
    file: 'first_gate',
    from: '_due > _ts',
    to: 'false',
    world: STRICT,
    events: [add({ due: 1 })],
  },
  {
    name: 'a strict retry gives up its slot',
    file: 'free_slots',
    from: "= 'relaxed'",
    to: "<> ''",
    world: STRICT,
    events: [add(), claim, settle(1, 'failed')],
  },
  {
    name: 'a relaxed one keeps it',
    file: 'free_slots',
    from: "= 'relaxed'",
    to: "= ''",
    world: RELAXED,
    events: [add(), claim, settle(1, 'failed')],
  },
  {
    name: 'what is given back is not replaced',
    file: 'put_back',
    from: 'taskq.take_again(array_agg(t.id), _ts)',
    to: 'array_agg(t.id)',
    world: STRICT,
    events: [add(), claim, replace(1), back],
  },
  {
    name: 'what is to be retried is not',
    file: 'settle_others',
    from: 'perform taskq.take_again(replaced, _ts)',
    to: 'null',
    world: STRICT,
    events: [add(), claim, replace(1), settle(1, 'failed')],
  },
  {
    name: 'what has ended is not',
    file: 'leave',
    from: 'l.again is not null as is_replaced',
    to: 'false as is_replaced',
    world: STRICT,
    events: [add(), claim, replace(1), settle(1, 'completed')],
  },
  {
    name: 'of two that replace it the first one does',
    file: 'again_of',
    from: "jsonb_build_object('payload', _by.payload)",
    to: "jsonb_build_object('payload', coalesce(_previous -> 'payload', _by.payload))",
    world: STRICT,
    events: [add(), claim, replace(1), replace(1), settle(1, 'completed')],
  },
  {
    name: 'a copy comes before what replaces it',
    file: 'note_again',
    from: 'and t.again is null and',
    to: 'and',
    world: STRICT,
    events: [add(), claim, replace(1), settle(1, 'repeated')],
  },
];
