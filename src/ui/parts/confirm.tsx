import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiProblem, type Method, send } from '../lib/api.ts';
import { problemOf } from '../lib/load.ts';
import { count } from '../lib/text.ts';
import { Dialog } from './dialog.tsx';
import { Field, textOf } from './fields.tsx';
import { ProblemView } from './problem.tsx';

/** Above this many, the user must type the number. */
const MOST_UNTYPED = 100;
const ALL = 'all';

interface ConfirmProps {
  readonly title: string;
  /** The label of the button that does it. */
  readonly verb: string;
  readonly isDestructive?: boolean;
  /** How many objects it affects; undefined: one, or not yet known (then `isReady` is false). */
  readonly count?: number | undefined;
  /** There may be more than `count`: then the word `all` has to be typed. */
  readonly isUncounted?: boolean | undefined;
  readonly isReady?: boolean;
  /** Does it. The dialog closes unless it throws; a problem is shown in it. */
  run(form: FormData): Promise<void>;
  onClose(): void;
  /** What will happen, and the fields of the form; a function gets the problem of the last try. */
  readonly children?: ComponentChildren | ((problem: ApiProblem | undefined) => ComponentChildren);
}

/** Sends the request of a dialog, with the reason given in it. */
export function sendWithReason<Answer = unknown>(
  form: FormData,
  method: Method,
  path: string,
  body: object = {},
): Promise<Answer> {
  const reason = textOf(form, 'reason');
  if (method !== 'DELETE') return send<Answer>(method, path, { ...body, reason });
  return send<Answer>(method, reason === undefined ? path : `${path}?reason=${encodeURIComponent(reason)}`);
}

/** Asks for confirmation, and for the reason, for the audit. */
export function Confirm({
  title,
  verb,
  isDestructive,
  count: many = 1,
  isUncounted = false,
  isReady = true,
  ...props
}: ConfirmProps) {
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const [typed, setTyped] = useState('');
  const mustType = isUncounted || many > MOST_UNTYPED;
  const isTyped = isUncounted
    ? typed.trim().toLowerCase() === ALL
    : typed.replaceAll(/\D/g, '') === String(many);
  const isOpen = isReady && !isBusy && (!mustType || isTyped);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!isOpen) return;
    setBusy(true);
    try {
      await props.run(new FormData(event.currentTarget as HTMLFormElement));
      props.onClose();
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={props.onClose}>
      <form onSubmit={submit}>
        {typeof props.children === 'function' ? props.children(problem) : props.children}
        <Field label="Reason, for the record" name="reason" problem={problem} />
        {mustType && (
          <label class="field">
            <span>Type {isUncounted ? ALL : count(many)} to confirm</span>
            <input
              inputMode={isUncounted ? 'text' : 'numeric'}
              autocomplete="off"
              value={typed}
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          </label>
        )}
        {problem !== undefined && <ProblemView problem={problem} />}
        <div class="buttons">
          <button type="button" onClick={props.onClose}>
            Back
          </button>
          <button type="submit" class={isDestructive ? 'danger' : 'primary'} aria-disabled={!isOpen}>
            {isBusy ? 'Working…' : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
