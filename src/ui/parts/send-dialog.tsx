import type { ComponentChildren } from 'preact';
import { note } from '../lib/activity.ts';
import type { ApiProblem, Method } from '../lib/api.ts';
import { useApp } from '../lib/app.ts';
import { hrefTo } from '../lib/place.ts';
import { Confirm, sendWithReason } from './confirm.tsx';

interface SendDialogProps {
  readonly title: string;
  /** The label of the button that does it. */
  readonly verb: string;
  readonly isDestructive?: boolean;
  readonly method?: Method;
  readonly path: string;
  bodyOf?(form: FormData): object;
  /** The action in the past tense, for the list. */
  readonly done: string;
  onDone(): void;
  onClose(): void;
  readonly children?: ComponentChildren | ((problem: ApiProblem | undefined) => ComponentChildren);
}

/** Asks, sends something to the API, and notes that it was done. */
export function SendDialog({ method = 'POST', path, bodyOf, done, onDone, ...props }: SendDialogProps) {
  const { activity } = useApp();
  const run = async (form: FormData) => {
    await sendWithReason(form, method, path, bodyOf?.(form));
    note(activity, { text: done, href: hrefTo('audit') });
    onDone();
  };
  return <Confirm {...props} run={run} />;
}
