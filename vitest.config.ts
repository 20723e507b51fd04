import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { findPgbouncer } from './test/support/pgbouncer.ts';
import { findSystemPostgres } from './test/support/system-postgres.ts';

/*
 * What runs where. A test runs once, on PostgreSQL 18, unless its result depends on more:
 *   unit       needs no server: `npm run test:fast`
 *   pg18       everything else
 *   pg15       what SQL decides (catalogue, plans, migrations, model, the schema `queues`, supervisors, the event
 *              stream; as a whole also all functions), and workers
 *   pgbouncer  what a pooler can change: settings of sessions, prepared statements, LISTEN past it, transactions that
 *              an application holds, locks, two connections that have to be one; every verb once, and a worker once
 */

/** The major version of the packaged binaries. */
const PACKAGED = 18;

const UNIT = [
  'test/layers.test.ts',
  'test/{config,domain,lib}/**/!(literal).test.ts',
  'test/ui/lib/**/*.test.ts',
  'test/cli/{input,is-interactive,report-error,table,workflow-tree}.test.ts',
  'test/library/{event-listener,types}.test.ts',
  'test/queue/{end-waiter,wake-hint}.test.ts',
  'test/server/{advancing,live-stats}.test.ts',
  'test/queue/model/**/explore.test.ts',
  'test/worker/{arrival-rate,claim-room,cursor,held-turn,inspect-main-thread,lease-table,silence-watch,start-rate}.test.ts',
  'test/worker/{ledger,decisions}/**/*.test.ts',
];

const POOLED = [
  // Every verb once, and a worker once.
  'test/cli/output-schema.test.ts',
  'test/worker/smoke.test.ts',
  'test/pgbouncer/**/*.test.ts',
  'test/queue/{housekeeper,partitions,session-settings,two-phase,vacuum}.test.ts',
  'test/library/{enqueue,keys,server-trouble,testing,wait,worker,workflows}.test.ts',
  'test/cli/{cancel,enqueue-file,enqueue-wait,keys,migrate}.test.ts',
  'test/worker/{own-transactions,follow-ups/steps}.test.ts',
];

/** What a change seldom breaks: two fifths of the CPU. `npm test` leaves it out, and CI runs one part after the other. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  /** The blocks of the documents, the specifications, the examples, and the files that the package brings for users. */
  documents: [
    'test/{examples,handlers,specs}/**/*.test.ts',
    'test/{examples,readme}.test.ts',
    'test/cli/{completion,init}.test.ts',
  ],
  /** The package as npm installs it, its own server, and processes that start, upgrade, supervise and reload. */
  processes: [
    'test/{embedded,package}/**/*.test.ts',
    'test/queue/faults/{first-start,upgrade,upgrade-owners}.test.ts',
    'test/server/abuse.test.ts',
    'test/worker/{clock,failover,supervise,watch}.test.ts',
  ],
  /** The pages in a browser. */
  pages: ['test/ui/*.test.ts'],
  /** Who may do what: roles, owners, tokens, and what names and payloads from outside can do. */
  rights: [
    'test/cli/{grants,roles}.test.ts',
    'test/queue/faults/{additions,privileges,untrusted}.test.ts',
    'test/server/{authorisation,injection}.test.ts',
    'test/worker/roles.test.ts',
  ],
  /** Tests of the tests, and things that break under load: few at a time, as their leases are short. */
  stress: [
    'test/faults/**/*.test.ts',
    'test/queue/model/**/{mutants,race}.test.ts',
    'test/queue/flow/{interleavings,killed-claims,races}.test.ts',
  ],
};

/** `usual`: none of the parts; the name of one: only that; absent, as with the name of a file: everything. */
const part = process.env.TASKQ_PART;
const isOnePart = part !== undefined && part !== 'usual';
if (isOnePart && !Object.hasOwn(PARTS, part))
  throw new Error(`TASKQ_PART=${part}: expected usual or one of ${Object.keys(PARTS).join(', ')}`);

const system = findSystemPostgres(process.env.PATH ?? '');

// Each project starts its own server. (At the top level, vitest would start one more, which no test uses.)
const globalSetup = ['test/support/global-setup.ts'];

const unit = {
  extends: true as const,
  test: { name: 'unit', globalSetup: ['test/support/scratch-setup.ts'], include: UNIT },
};

const packaged = {
  extends: true as const,
  test: {
    name: `pg${PACKAGED}`,
    globalSetup,
    include: isOnePart ? [...PARTS[part]!] : ['test/**/*.test.ts'],
    exclude: [
      ...UNIT,
      ...(part === 'usual' ? Object.values(PARTS).flat() : []),
      'test/pgbouncer/**',
      'test/worker/smoke.test.ts',
    ],
  },
};

const older = system &&
  system.major !== PACKAGED && {
    extends: true as const,
    test: {
      name: `pg${system.major}`,
      globalSetup,
      include: [
        'test/sql/**/*.test.ts',
        'test/queue/model/**/*.test.ts',
        'test/cli/migrate.test.ts',
        'test/worker/{roles,smoke}.test.ts',
        'test/queue/{events,run-function,sql-sessions,supervisor-template,supervisors}.test.ts',
        ...(part === undefined ? ['test/cli/grants.test.ts', 'test/queue/**/*.test.ts'] : []),
      ],
      // Nothing of these depends on the server. `catalogue` checks every function on both, and the replays play the
      // protocol, groups, limits, rates, workflows and replacing on both; so do `breaker`, `replace`, `claim` and `migrate`.
      // What a client does about an answer that is lost or late is its own.
      exclude: [
        ...UNIT,
        'test/queue/model/**/{mutants,race}.test.ts',
        'test/queue/faults/{atomic-enqueue,conflicts,first-start,foreign-locks,lost-answers,replacing,upgrade,zombies}.test.ts',
        'test/queue/flow/{interleavings,killed-claims,races}.test.ts',
        'test/queue/{breaker-model,claim-large,group-verbs,limits,options,replacing,reporter}.test.ts',
      ],
      provide: { systemBinDir: system.binDir },
    },
  };

const pgbouncer = findPgbouncer(process.env.PATH ?? '');

/** The code under test reaches the server through the pooler alone. */
const pooled = pgbouncer && {
  extends: true as const,
  test: { name: 'pgbouncer', globalSetup, include: POOLED, provide: { pgbouncer } },
};

/** Files that take long, longest first: begun last, they would end when all else has ended. */
const LONG = [
  'test/worker/ledger/explore',
  'test/queue/model/explore',
  'test/queue/model/groups/explore',
  'test/readme',
  'test/package/installed',
  'test/queue/model/workflows/mutants',
  'test/queue/model/interleave',
  'test/queue/model/replay',
  'test/queue/limits',
  'test/queue/faults/upgrade-owners',
  'test/worker/crashes',
  'test/queue/group-verbs',
  'test/queue/model/mutants',
  'test/worker/supervise',
  'test/worker/failover',
  'test/cli/grants',
  'test/worker/odd-rows',
  'test/faults/workflows',
  'test/worker/processes',
  'test/worker/own-transactions',
  'test/sql/plans',
  'test/worker/watch',
  'test/worker/notes',
  'test/cli/output-schema',
  'test/queue/model/workflows/replay',
  'test/cli/init',
  'test/queue/faults/foreign-locks',
  'test/worker/schedules',
  'test/queue/breaker-model',
  'test/queue/faults/upgrade',
  'test/queue/groups',
  'test/queue/claim',
  'test/worker/connections',
  'test/worker/hung-database',
  'test/worker/handlers',
  'test/worker/orders',
  'test/sql/hot-updates',
  'test/worker/cancelling',
  'test/queue/partitions',
  'test/worker/transactions',
  'test/queue/replacing',
  'test/queue/flow/interleavings',
  'test/worker/short-lived',
  'test/worker/ending',
  'test/worker/claiming',
  'test/cli/workflow-run',
  'test/queue/options',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONG.findIndex((name) => moduleId.includes(`/${name}.`));
      return index === -1 ? LONG.length : index;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    // A test waits for what it expects, not for a time: these end what hangs, also on a machine that is ten times slower.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    // The message of a failure has to show what was found, not how many properties it has.
    chaiConfig: { truncateThreshold: 2000 },
    // Two cores are kept busy by six: a file computes for less than half of its time, and waits for processes, leases
    // and time-outs for the rest.
    maxWorkers: part === 'stress' ? 3 : 6,
    // A process runs one file after another and loads the sources once.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: (isOnePart ? [packaged] : [unit, packaged, older, pooled]).filter(
      (project) => project !== undefined && project !== false,
    ),
  },
});
