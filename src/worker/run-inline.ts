import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import { type Attempt, currentAttempt } from './attempt.ts';
import { checkPayload } from './check-payload.ts';
import type { TaskContext } from './handler.ts';
import type { Handler } from './load-handler.ts';

/** Run a handler in this process. Never rejects. */
export async function runInline(attempt: Attempt, handler: Handler, ctx: TaskContext): Promise<Outcome> {
  try {
    const { payload } = attempt.held.task;
    const value = await currentAttempt.run(attempt, () => runChecked(handler, payload, ctx));
    return value instanceof InvalidPayload
      ? outcomeOf({ kind: 'invalidPayload', problem: value.problem })
      : outcomeOf({ kind: 'returned', value });
  } catch (thrown) {
    return outcomeOf({ kind: 'threw', thrown });
  }
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
