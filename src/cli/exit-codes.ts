import { EXIT } from '../lib/errors.ts';

/** What the exit codes of the binary mean, for the README. */
export const EXIT_CODES: readonly { readonly codes: readonly number[]; readonly meaning: string }[] = [
  { codes: [EXIT.done], meaning: 'done' },
  { codes: [EXIT.failed], meaning: 'it failed' },
  { codes: [EXIT.usage], meaning: 'asked wrongly: usage, configuration, unknown type, bad JSON' },
  { codes: [EXIT.schema], meaning: 'schema and binary do not fit, or there is no schema: `taskq migrate`' },
  { codes: [EXIT.deadline], meaning: 'the deadline of `--wait` passed' },
  {
    codes: [137],
    meaning:
      'killed (SIGKILL): a worker kills itself where a handler kept its event loop; a system that is out of memory, too',
  },
  { codes: [130, 143], meaning: 'ended by SIGINT, SIGTERM' },
];
