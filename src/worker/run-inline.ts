import { checkPayload } from '../domain/check-payload.ts';
import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import type { StoredError } from '../domain/storable-error.ts';
import { type Attempt, currentAttempt } from './attempt.ts';
import type { TaskContext } from './handler.ts';
import type { Handler } from './load-handler.ts';

/** Run a handler in this process. Never rejects. */
export async function runInline(attempt: Attempt, handler: Handler, ctx: TaskContext): Promise<Outcome> {
  try {
    const { payload: text } = attempt.held.task;
    const payload: unknown = handler.takes === 'text' ? text : JSON.parse(text);
    const value = await currentAttempt.run(attempt, runChecked, handler, payload, ctx);
    return value instanceof InvalidPayload
      ? outcomeOf({ kind: 'invalidPayload', problem: value.problem })
      : outcomeOf({ kind: 'returned', value });
  } catch (thrown) {
    return withoutOurFrames(outcomeOf({ kind: 'threw', thrown }));
  }
}

const HERE = new URL('.', import.meta.url);

/** Cut the stacks where they leave the handler: what called it is the same for everyone and tells nobody anything. */
function withoutOurFrames(outcome: Outcome): Outcome {
  return outcome.kind === 'failed' ? { ...outcome, error: trimmed(outcome.error) } : outcome;
}

function trimmed(error: StoredError): StoredError {
  const lines = error.stack?.split('\n') ?? [];
  const end = lines.findIndex((line) => line.includes(HERE.href) || line.includes(HERE.pathname));
  const stack = end > 0 ? lines.slice(0, end).join('\n') : error.stack;
  return { ...error, stack, cause: error.cause && trimmed(error.cause) };
}

class InvalidPayload {
  readonly problem: string;
  constructor(problem: string) {
    this.problem = problem;
  }
}

function runChecked(handler: Handler, payload: unknown, ctx: TaskContext): unknown {
  if (handler.schema === undefined) return handler.run(payload, ctx);
  return checkPayload(handler.schema, payload).then((checked) =>
    'problem' in checked ? new InvalidPayload(checked.problem) : handler.run(checked.value, ctx),
  );
}
