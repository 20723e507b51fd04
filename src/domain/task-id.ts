import { EXIT, TaskqError } from '../lib/errors.ts';

/** Give the number of a task back if it is one: a bigint from 1 on, as text. Throws TaskqError `bad_option`. */
export function checkedTaskId(text: unknown, what = 'id'): string {
  if (typeof text === 'string' && /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= MAX_ID) return text;
  const shown = typeof text === 'string' ? JSON.stringify(text) : `of type ${typeof text}`;
  const expected =
    typeof text === 'string' ? 'the number of a task, such as 12' : "the id as text, such as '12'";
  throw new TaskqError('bad_option', `${what} ${shown}: expected ${expected}`, { exitCode: EXIT.usage });
}

const MAX_ID = 2n ** 63n - 1n;
