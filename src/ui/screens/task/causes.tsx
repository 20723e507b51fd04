import { useSeesAll } from '../../lib/app.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import type { TaskDetails } from '../../lib/task.ts';
import { visible } from '../../lib/text.ts';
import { LoadedView } from '../../parts/loaded.tsx';
import { Section } from '../../parts/screen.tsx';
import { Command, Name, Time } from '../../parts/text.tsx';

interface Cause extends Readonly<Record<string, unknown>> {
  readonly cause: string;
}

interface Explanation {
  readonly mayStartAt: string | null;
  /** Empty: a worker takes it with its next claim. */
  readonly causes: readonly Cause[];
}

/** The causes in words; further details of a cause are shown beside it. */
const SAID: Readonly<Record<string, string>> = {
  delayed: 'Its time has not come',
  retrying: 'Its last attempt failed, and it waits for the next',
  snoozed: 'Its handler put it off',
  expired: 'It expired before it started',
  suspect: 'Its handler did not report its end: it runs in a process of its own',
  waiting_for_parents: 'It waits for the steps before it',
  queue_paused: 'Its queue is paused',
  max_running: 'As many tasks of its queue run as may',
  rate: 'Its queue or group starts no more at this rate',
  breaker_open: 'The breaker of its type is open',
  group_paused: 'Its group is paused',
  group_held: 'Another task holds up its group',
  group_full: 'Others have the slots of its group, or get them first',
  locked: 'Another transaction keeps its row locked',
  slots_busy: 'All slots of the workers that can take it are in use',
  behind: 'Other tasks of its queue come first',
  running: 'It runs',
  claimed: 'A worker has claimed it, and starts it when a slot is free',
  timed_out: 'Its timeout has passed, and its handler has not ended',
  worker_silent: 'Its worker is silent: another one, if it runs, takes over',
  cancel_requested: 'Its worker was asked to end it',
  no_worker: 'No worker is running',
  workers_stopping: 'Every worker is stopping',
  queue_unserved: 'No worker serves its queue',
  type_unhandled: 'No worker has a handler for its type',
  pair_unserved: 'No worker that serves its queue has a handler for its type',
  worker_paused: 'Every worker that could take it is paused',
};

/** The command that helps, if there is one. */
const COMMANDS: Readonly<Record<string, string>> = {
  no_worker: 'taskq work',
  type_unhandled: 'taskq work',
};

/** Why a task does not run, or where it does. */
export function Causes({ task }: { readonly task: TaskDetails }) {
  const loaded = useLoad<Explanation>(`tasks/${task.id}/explain`, task);
  const isHeld = task.status === 'running' || task.status === 'leased';
  return (
    <Section title={isHeld ? 'Where it is' : 'Why it waits'}>
      <LoadedView of={loaded}>
        {({ causes }) => (
          <ul class="causes">
            {causes.length === 0 && <li>Nothing keeps it: a worker takes it with its next claim.</li>}
            {causes.map((cause) => (
              <li key={cause.cause}>
                <strong>{SAID[cause.cause] ?? cause.cause}</strong>
                <Details of={cause} />
                {COMMANDS[cause.cause] !== undefined && <Command text={COMMANDS[cause.cause]!} />}
              </li>
            ))}
          </ul>
        )}
      </LoadedView>
    </Section>
  );
}

const TIMES = ['until', 'since', 'at'];

function Details({ of }: { readonly of: Cause }) {
  const details = Object.entries(of).filter(
    ([name, value]) => name !== 'cause' && value !== null && value !== '',
  );
  if (details.length === 0) return null;
  return (
    <span class="details">
      {details.map(([name, value]) => (
        <span key={name}>
          <span class="muted">{name.replaceAll('_', ' ')}</span> <Detail name={name} value={value} />
        </span>
      ))}
    </span>
  );
}

const TASKS = ['dead_task', 'snoozed_by', 'probe', 'holders'];

function Detail({ name, value }: { readonly name: string; readonly value: unknown }) {
  const seesAll = useSeesAll();
  if (TIMES.includes(name)) return <Time at={String(value)} />;
  if (TASKS.includes(name)) return <TaskLinks ids={[value].flat().map(String)} />;
  if (name === 'workflow' && seesAll)
    return <a href={hrefTo('workflows', [String(value)])}>{String(value)}</a>;
  if (name === 'parents') return <Parents of={value as readonly Parent[]} />;
  return typeof value === 'string' ? <Name text={value} /> : <span>{visible(JSON.stringify(value))}</span>;
}

function TaskLinks({ ids }: { readonly ids: readonly string[] }) {
  return (
    <>
      {ids.map((id) => (
        <a key={id} href={hrefTo('task', [id])}>
          {id}
        </a>
      ))}
    </>
  );
}

interface Parent {
  readonly step: string;
  readonly task: string;
  readonly status: string;
}

function Parents({ of }: { readonly of: readonly Parent[] }) {
  return (
    <>
      {of.map(({ step, task, status }) => (
        <span key={step}>
          <a href={hrefTo('task', [task])}>
            <Name text={step} />
          </a>{' '}
          ({status}){' '}
        </span>
      ))}
    </>
  );
}
