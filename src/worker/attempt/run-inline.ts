import { checkPayload } from '../../domain/check-payload.ts';
import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { refused } from '../../lib/open-transaction.ts';
import type { Handler } from '../handlers/load-handler.ts';
import { type Attempt, currentAttempt } from './attempt.ts';
import type { Context } from './context.ts';
import { isCaller } from './is-caller.ts';

/** Run a handler in this process. Never rejects. */
export async function runInline(attempt: Attempt, handler: Handler, ctx: Context): Promise<Outcome> {
  const ended = await outcomeOfRun(attempt, handler, ctx);
  const outcome = attempt.transacting === undefined ? ended : await afterTransaction(attempt, ended);
  const taken = ctx.endFollowUps();
  if (taken === undefined) return outcome;
  const followUps = await taken;
  return followUps === undefined || outcome.kind !== 'completed' ? outcome : { ...outcome, followUps };
}

/** The handler did not wait for its transaction, so wait here: no task completes without it. */
async function afterTransaction(attempt: Attempt, outcome: Outcome): Promise<Outcome> {
  await attempt.transacting;
  if (outcome.kind !== 'completed' || attempt.isCompleting) return outcome;
  return outcomeOf({
    kind: 'threw',
    thrown: refused('the handler did not wait for its ctx.transaction, which was rolled back'),
  });
}

async function outcomeOfRun(attempt: Attempt, handler: Handler, ctx: Context): Promise<Outcome> {
  try {
    const { payload: text } = attempt.task;
    const payload: unknown = handler.takes === 'text' ? text : JSON.parse(text);
    const value = await currentAttempt.run(attempt, runChecked, handler, payload, ctx);
    return value instanceof InvalidPayload
      ? outcomeOf({ kind: 'invalidPayload', problem: value.problem })
      : outcomeOf({ kind: 'returned', value });
  } catch (thrown) {
    return outcomeOf({ kind: 'threw', thrown, isCaller });
  }
}

class InvalidPayload {
  readonly problem: string;
  constructor(problem: string) {
    this.problem = problem;
  }
}

function runChecked(handler: Handler, payload: unknown, ctx: Context): unknown {
  if (handler.schema === undefined) return handler.run(payload, ctx);
  return checkPayload(handler.schema, payload).then((checked) =>
    'problem' in checked ? new InvalidPayload(checked.problem) : handler.run(checked.value, ctx),
  );
}
