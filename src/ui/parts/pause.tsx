import { type ApiProblem, segment } from '../lib/api.ts';
import { Field, textOf } from './fields.tsx';
import { SendDialog } from './send-dialog.tsx';
import { Status } from './status.tsx';
import { Name, Time } from './text.tsx';

interface PauseStateProps {
  /** Null: not paused. */
  readonly since: string | null;
  readonly until?: string | null;
  readonly by: string | null;
  readonly reason: string | null;
}

/** Whether it is paused: by whom, until when, and why. */
export function PauseState({ since, until, by, reason }: PauseStateProps) {
  if (since === null) return <span class="muted">–</span>;
  return (
    <>
      <Status name="paused" />{' '}
      <span class="muted">
        <Time at={since} />
        {by !== null && (
          <>
            {' '}
            by <Name text={by} />
          </>
        )}
        {until != null && (
          <>
            , ends <Time at={until} />
          </>
        )}
      </span>
      {reason !== null && (
        <>
          {' '}
          <Name text={reason} />
        </>
      )}
    </>
  );
}

/** The object to pause or resume, by a path that ends with the verb. */
interface PauseDialogProps {
  readonly verb: 'pause' | 'resume';
  /** Such as `queue mail`. */
  readonly of: string;
  readonly path: string;
  /** Whether the pause may end by itself. */
  readonly mayEnd?: boolean;
  onDone(): void;
  onClose(): void;
}

export function PauseDialog({ verb, of, path, mayEnd = false, ...props }: PauseDialogProps) {
  const [label, effect] =
    verb === 'pause'
      ? ['Pause', 'No further task of it starts. Those that run go on.']
      : ['Resume', 'Its tasks start again.'];
  return (
    <SendDialog
      title={`${label} ${of}`}
      verb={label}
      path={`${path}/${segment(verb)}`}
      bodyOf={(form) => ({ for: textOf(form, 'for') })}
      done={`${verb}d ${of}`}
      {...props}
    >
      {(problem: ApiProblem | undefined) => (
        <>
          <p>{effect}</p>
          {verb === 'pause' && mayEnd && (
            <Field
              label="For how long"
              name="for"
              placeholder="30m"
              hint="Empty: until someone resumes it."
              problem={problem}
            />
          )}
        </>
      )}
    </SendDialog>
  );
}
