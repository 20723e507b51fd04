import { segment } from '../lib/api.ts';
import { useApp, useSeesAll } from '../lib/app.ts';
import { useLoad } from '../lib/load.ts';
import { hrefTo } from '../lib/place.ts';
import type { Applying, TaskDetails } from '../lib/task.ts';
import { duration, visible } from '../lib/text.ts';
import { JsonView } from '../parts/json-view.tsx';
import { LoadedView } from '../parts/loaded.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Time } from '../parts/text.tsx';
import { TaskActions } from './task/actions.tsx';
import { Causes } from './task/causes.tsx';
import { ErrorView } from './task/error-view.tsx';
import { Timeline } from './task/timeline.tsx';

/** A task with all its details. */
export function TaskScreen() {
  const { place } = useApp();
  const [id = ''] = place.names;
  const loaded = useLoad<TaskDetails>(`tasks/${segment(id)}`);
  const { data: task } = loaded;
  return (
    <Screen
      title={`Task ${visible(id)}`}
      heading={
        <>
          Task {visible(id)} {task !== undefined && <Name text={task.type} />}
        </>
      }
      actions={task !== undefined && <TaskActions task={task} onDone={loaded.reload} />}
    >
      <LoadedView of={loaded}>{(shown) => <TaskView task={shown} />}</LoadedView>
    </Screen>
  );
}

const WAITS = ['pending', 'blocked', 'leased', 'running'];

function TaskView({ task }: { readonly task: TaskDetails }) {
  return (
    <div class="task">
      <div class="column">
        <State task={task} />
        {WAITS.includes(task.status) && <Causes task={task} />}
        {task.progress !== null && <Progress of={task.progress} />}
        <Section title="Payload">
          <JsonView value={task.payload} what="the payload" />
        </Section>
        {task.status === 'completed' && (
          <Section title="Result">
            <JsonView value={task.result} what="the result" />
          </Section>
        )}
        {task.error !== null && (
          <Section title="Last error">
            <ErrorView error={task.error} />
          </Section>
        )}
      </div>
      <div class="column">
        <Section title="Timeline">
          <Timeline task={task} />
        </Section>
      </div>
    </div>
  );
}

function State({ task }: { readonly task: TaskDetails }) {
  const seesAll = useSeesAll();
  const { applies, workflow, tags } = task;
  return (
    <Facts
      of={[
        ['Status', <Status key="status" name={task.status} />],
        ['Reason', task.reason === null ? undefined : <Name text={task.reason} />],
        ['Queue', <Filtered key="queue" by="queue" value={task.queue} />],
        ['Type', <Filtered key="type" by="type" value={task.type} />],
        ['Priority', task.priority],
        ['Failed attempts', `${task.attempts} of ${applied(applies.maxAttempts)}`],
        ['Timeout', limit(applies.timeoutMs)],
        ['Key', task.key === null ? undefined : <Filtered by="key" value={task.key} />],
        ['Group', task.group === null ? undefined : <Filtered by="group" value={task.group} />],
        ['Workflow', workflow === null ? undefined : <Workflow {...workflow} isLink={seesAll} />],
        ['Tags', tags === null ? undefined : <Tags of={tags} />],
        ['Created', <Time key="created" at={task.createdAt} />],
        ['May start', task.availableAt === null ? undefined : <Time at={task.availableAt} />],
        ['Started', task.startedAt === null ? undefined : <Time at={task.startedAt} />],
        ['Times out', task.timesOutAt === null ? undefined : <Time at={task.timesOutAt} />],
        ['Expires', task.expiresAt === null ? undefined : <Time at={task.expiresAt} />],
        ['Ended', task.finishedAt === null ? undefined : <Time at={task.finishedAt} />],
        ['Worker', task.leaseOwner === null ? undefined : <Name text={task.leaseOwner} />],
        ['Trace', task.traceparent === null ? undefined : <TraceId traceparent={task.traceparent} />],
        ['Runs again as', task.again === null ? undefined : <TaskLink id={task.again.id} />],
      ]}
    />
  );
}

function applied({ value, from }: Applying): string {
  return `${value}${from === 'task' ? '' : ` (${from})`}`;
}

function limit({ value, from }: Applying): string | undefined {
  return value === null ? undefined : applied({ value: duration(Number(value)), from });
}

function Filtered({ by, value }: { readonly by: string; readonly value: string }) {
  return (
    <a href={hrefTo('tasks', [], { [by]: value })}>
      <Name text={value} />
    </a>
  );
}

function TaskLink({ id }: { readonly id: string }) {
  return <a href={hrefTo('task', [id])}>task {id}</a>;
}

function Workflow({ id, step, isLink }: NonNullable<TaskDetails['workflow']> & { readonly isLink: boolean }) {
  return (
    <>
      {isLink ? <a href={hrefTo('workflows', [id])}>{id}</a> : id}
      {step !== null && (
        <>
          , step <Name text={step} />
        </>
      )}
    </>
  );
}

function Tags({ of }: { readonly of: Readonly<Record<string, string>> }) {
  return (
    <ul class="chips">
      {Object.entries(of).map(([name, value]) => (
        <li key={name}>
          <a href={hrefTo('tasks', [], { tag: `${name}=${value}` })}>
            <Name text={`${name}=${value}`} />
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The part of a traceparent by which a trace is found. */
function TraceId({ traceparent }: { readonly traceparent: string }) {
  return (
    <span class="mono" title={traceparent}>
      {traceparent.split('-')[1] ?? traceparent}
    </span>
  );
}

function Progress({ of: { value, text, at } }: { readonly of: NonNullable<TaskDetails['progress']> }) {
  const isShare = value >= 0 && value <= 1;
  return (
    <Section title="Progress">
      <div class="card progress">
        {isShare && <progress aria-label="Progress" value={value} />}
        <p>
          {isShare ? `${Math.round(value * 100)} %` : value} {text !== null && <Name text={text} />}{' '}
          <span class="muted">
            <Time at={at} />
          </span>
        </p>
      </div>
    </Section>
  );
}
