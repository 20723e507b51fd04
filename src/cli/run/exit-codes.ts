import { EXIT } from '../../lib/errors.ts';

/** What the exit codes of the binary mean, for docs/reference.md. */
export const EXIT_CODES: readonly { readonly codes: readonly number[]; readonly meaning: string }[] = [
  { codes: [EXIT.done], meaning: 'done' },
  {
    codes: [EXIT.failed],
    meaning:
      'it failed; of a worker: it retired, left tasks to their leases, even after a second signal, or a handler called `process.exit` (`worker.exited` in its log)',
  },
  { codes: [EXIT.usage], meaning: 'wrong usage: an option, the configuration, an unknown type, bad JSON' },
  {
    codes: [EXIT.schema],
    meaning: 'the schema is missing or does not fit this version of taskq: run `taskq migrate`',
  },
  {
    codes: [EXIT.deadline],
    meaning: 'the time to wait is over (`--wait`, `--timeout`); the task or workflow goes on',
  },
  {
    codes: [9],
    meaning:
      'Node 20 could not read the file of `--env-file` and ended before taskq started; later versions: 2',
  },
  { codes: [130, 143], meaning: 'ended by SIGINT, SIGTERM' },
  {
    codes: [137],
    meaning:
      'killed by SIGKILL: by the worker itself when a handler blocked its event loop, or by a system out of memory',
  },
];
