import type { ComponentChildren } from 'preact';
import type { Action, Attempt, AttemptLog, LogLine, TaskDetails } from '../../lib/task.ts';
import { counted, visible } from '../../lib/text.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { Status } from '../../parts/status.tsx';
import { Duration, ExactTime, Name, Time } from '../../parts/text.tsx';
import { ErrorView } from './error-view.tsx';

interface Moment {
  readonly at: string;
  readonly view: ComponentChildren;
}

/** What happened to a task, the latest first. */
export function Timeline({ task }: { readonly task: TaskDetails }) {
  return (
    <ol class="timeline">
      {momentsOf(task).map(({ at, view }, place) => (
        <li key={`${at} ${place}`}>
          <p class="muted">
            <Time at={at} /> · <ExactTime at={at} />
          </p>
          {view}
        </li>
      ))}
    </ol>
  );
}

function momentsOf(task: TaskDetails): readonly Moment[] {
  const logs = new Map(task.logs.map((log) => [log.attempt, log]));
  const moments: Moment[] = [
    { at: task.createdAt, view: <p>Created</p> },
    ...task.errors.map((attempt) => ({
      at: attempt.at,
      view: (
        <AttemptView
          attempt={attempt}
          log={attempt.outcome === 'warned' ? undefined : logs.get(attempt.attempt)}
        />
      ),
    })),
    ...task.actions.map((action) => ({ at: action.at, view: <ActionView action={action} /> })),
  ];
  if (task.startedAt !== null && (task.status === 'running' || task.status === 'completed'))
    moments.push({ at: task.startedAt, view: <p>Attempt {task.attempts + 1} started</p> });
  if (task.finishedAt !== null)
    moments.push({ at: task.finishedAt, view: <EndView task={task} log={logs.get(task.attempts + 1)} /> });
  // A stable sort keeps the order of simultaneous events.
  return moments.sort((one, other) => Date.parse(one.at) - Date.parse(other.at)).reverse();
}

function AttemptView({
  attempt: of,
  log,
}: {
  readonly attempt: Attempt;
  readonly log: AttemptLog | undefined;
}) {
  return (
    <>
      <p>
        Attempt {of.attempt} <Status name={of.outcome} />
        {of.ranMs !== null && (
          <>
            {' '}
            after <Duration ms={of.ranMs} />
          </>
        )}
      </p>
      {of.worker !== null && (
        <p class="muted">
          on <Name text={of.worker} />
          {of.version !== null && `, version ${visible(of.version)}`}
        </p>
      )}
      {of.error !== null && <ErrorView error={of.error} />}
      {of.result !== null && <JsonView value={of.result} what="the result of the attempt" />}
      {of.retryAt !== null && (
        <p class="muted">
          next attempt <Time at={of.retryAt} />
        </p>
      )}
      {log !== undefined && <LogView log={log} />}
    </>
  );
}

function EndView({ task, log }: { readonly task: TaskDetails; readonly log: AttemptLog | undefined }) {
  return (
    <>
      <p>
        <Status name={task.status} /> {task.reason !== null && <Name text={task.reason} />}
      </p>
      {task.status === 'completed' && log !== undefined && <LogView log={log} />}
    </>
  );
}

function ActionView({ action: { verb, by, role, reason } }: { readonly action: Action }) {
  return (
    <p>
      <code>{visible(verb)}</code> by <Name text={by ?? role} />
      {reason !== null && (
        <>
          : <Name text={reason} />
        </>
      )}
    </p>
  );
}

function LogView({ log: { leftOut, lines } }: { readonly log: AttemptLog }) {
  return (
    <details>
      <summary>Log, {counted(lines.length, 'line')}</summary>
      {leftOut > 0 && <p class="muted">{counted(leftOut, 'earlier line')} not kept</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <div class="loglines" tabIndex={0} role="log" aria-label="Log of the attempt">
        {lines.map((line, place) => (
          <LineView key={place} line={line} />
        ))}
      </div>
    </details>
  );
}

function LineView({ line: { at, level, message, fields } }: { readonly line: LogLine }) {
  return (
    <div class={`line ${level}`}>
      <span class="muted">{at.slice(11, 23)}</span> <b>{level}</b> <bdi>{visible(message)}</bdi>
      {fields != null && <JsonView value={fields} what="the fields" />}
    </div>
  );
}
