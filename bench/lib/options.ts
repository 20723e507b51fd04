import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** The scenarios to run, by name; empty: the usual ones. */
  readonly only: readonly string[];
  /** At a size that takes seconds, to check that everything works. */
  readonly quick: boolean;
  readonly rounds: number;
}

export const USAGE = `npm run bench -- [--only <scenario>] … [--quick] [--rounds <n>]

Measures taskq beside graphile-worker, pg-boss and BullMQ in one run, prints a table with ratios, and writes
bench/results/<date>.json and bench/results/latest.svg.

  --only <scenario>  this one alone; may be repeated: drain, snapshot, latency, enqueue, depth, steady,
                     unclaimable, slots, idle, slow, groups, limits, claim-forms, fair,
                     follow-ups, events, functions, workflow, supervisors
  --quick            drain, latency and enqueue at a reduced size; with --only: that one, reduced
  --rounds <n>       how often each measurement is repeated, in turn with the others (3)

BENCH_DATABASE_URL names a PostgreSQL to measure on; the role must be able to create databases. Without it the
bench starts one of its own and takes it away again.`;

/** An impossible request; the message is one line. */
export class BadOption extends Error {}

/** Read the command line. Throws BadOption. */
export function readOptions(args: readonly string[], scenarios: readonly string[]): BenchOptions | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  const unknown = values.only.find((name) => !scenarios.includes(name));
  if (unknown !== undefined) {
    throw new BadOption(`no scenario ${JSON.stringify(unknown)}: there are ${scenarios.join(', ')}`);
  }
  const rounds = values.rounds === undefined ? (values.quick ? 1 : 3) : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new BadOption('--rounds takes a number from 1 on');
  return { only: values.only, quick: values.quick, rounds };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true, default: [] },
        quick: { type: 'boolean', default: false },
        rounds: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new BadOption(error instanceof Error ? error.message : String(error));
  }
}
