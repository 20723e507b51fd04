import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import type { CommandEntry } from '../../src/cli/run/command.ts';
import { insertWorkflow } from '../queue/flow/steps.ts';
import { sessionOf } from '../queue/session.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { createProject, type Project } from './project.ts';
import { faultsOf, type Schema } from './validate.ts';

interface OutputSchema extends Schema {
  readonly error: Schema;
  readonly commands: Readonly<Record<string, Schema>>;
}

/** The full names of all commands that do something. */
async function namesBelow(entries: readonly CommandEntry[], prefix = ''): Promise<string[]> {
  const names = await Promise.all(
    entries.map(async ({ name, load }) => {
      const { subcommands } = await load();
      return subcommands === undefined ? [prefix + name] : namesBelow(subcommands, `${prefix}${name} `);
    }),
  );
  return names.flat();
}

/** Command lines to try, by command; they follow each other. `$x` is a task made for them. */
const TRIED: Readonly<Record<string, readonly (readonly string[])[]>> = {
  migrate: [[], ['--status'], ['--dry-run'], ['--with', 'queues', '--status']],
  grants: [
    ['--worker', 'w', '--functions', 'comms.*'],
    ['--apply', '--reader', '$role'],
  ],
  config: [[]],
  enqueue: [
    ['double', '{"n":1}', '--key', 'a', '--tag', 'x=y'],
    ['double', '{}', '--key', 'a'],
    ['double', '--file', '-', '--max-attempts', '1'],
  ],
  work: [['--until-idle', '--poll', '50ms']],
  list: [[], ['--limit', '1'], ['--status', 'completed'], ['--queue', 'nowhere']],
  show: [['$completed'], ['$waiting'], ['$dead'], ['$failed']],
  explain: [['$completed'], ['$waiting'], ['$dead'], ['$failed']],
  stats: [[], ['--since', '1h']],
  metrics: [[], ['--days', '--queue', 'default', '--type', 'double', '--limit', '5']],
  retry: [
    ['--all', '--dry-run'],
    ['$waiting', '$dead', '999999'],
    ['--type', 'double', '--failed'],
  ],
  edit: [
    ['--all', '--to-priority', '2', '--dry-run'],
    ['$waiting', '$dead', '999999', '--payload', '{"n":2}'],
    ['--type', 'double', '--to-priority', '2', '--yes'],
  ],
  audit: [[], ['--limit', '1'], ['--verb', 'cancel']],
  'dead list': [[], ['--limit', '1'], ['--by-hand']],
  'dead groups': [[], ['--limit', '1']],
  'dead show': [['$failed'], ['--fingerprint', '3fc6a620b6']],
  'dead add': [['$waiting', '--reason', 'parked']],
  'dead revive': [
    ['$failed', '--dry-run'],
    ['--type', 'nothing', '--rate', '5/1s'],
    ['$failed', '--canary', '1', '--stop-at', '10%', '--detach'],
    ['$keyed', '$dead', '999999'],
    ['--type', 'double'],
    ['--all'],
    ['--by-hand', '--by', 'ann'],
  ],
  'operations list': [[], ['--state', 'canary'], ['--limit', '1']],
  'operations show': [['1'], ['2']],
  'operations wait': [['1']],
  'operations stop': [['2', '--reason', 'no']],
  'dead discard': [
    ['--all', '--dry-run'],
    ['$keyed', '999999', '--yes'],
    ['--all', '--yes'],
  ],
  cancel: [
    ['--all', '--dry-run'],
    ['$dead', '999999'],
    ['--type', 'double', '--yes'],
  ],
  rerun: [
    ['--all', '--dry-run'],
    ['$completed', '$waiting', '999999'],
    ['--type', 'double', '--yes'],
  ],
  purge: [
    ['--all', '--dry-run'],
    ['$completed', '$waiting', '999999', '--yes'],
    ['--status', 'cancelled', '--yes'],
  ],
  'queues pause': [['default', '--reason', 'deploy', '--for', '1h'], ['mail']],
  'queues list': [[]],
  'queues resume': [['mail'], ['mail']],
  'groups pause': [['default', 'ann', '--reason', 'deploy']],
  'groups list': [['default'], ['default', '--stopped']],
  'groups show': [['default', 'ann']],
  'groups resume': [['default', 'ann']],
  'groups set': [
    ['default', 'ann', '--limit', '2', '--rate', '10/1s', '--burst', '3'],
    ['default', 'ann', '--rate', 'default'],
  ],
  'queues set': [
    [
      'mail',
      '--retention',
      '3d',
      '--dead-retention',
      '90d',
      '--errors-retention',
      'none',
      '--expires',
      '30d',
    ],
    [
      'mail',
      '--max-attempts',
      'unlimited',
      '--timeout',
      '30s',
      '--retention',
      'default',
      '--backoff',
      'fixed,10m',
    ],
  ],
  'workers list': [[], ['--all', '--limit', '1']],
  'workers pause': [['$worker'], ['$ended']],
  'workers resume': [['$worker'], ['$worker'], ['$ended']],
  'workers set': [
    ['$worker', '--concurrency', '3', '--queues', 'mail', '--poll', '2s'],
    ['$ended', '--all-queues'],
  ],
  'workers stop': [['$worker', '$ended']],
  'types list': [[]],
  'tokens add': [['shop', '--role', 'producer', '--queues', 'mail-*', '--expires', '90d'], ['ann']],
  'tokens list': [[]],
  'tokens revoke': [['shop', 'nowhere']],
  'types add': [['double', 'triple']],
  'types set': [
    ['double', '--backoff', 'linear,1s', '--queue', 'mail', '--priority', 'low'],
    ['double', '--queue', 'default', '--breaker', '5/1m', '--probe-after', 'none'],
  ],
  'types resume': [['double']],
  'types remove': [['triple', 'nowhere', 'double']],
  'schedule add': [
    ['nightly', '30 2 * * *', 'double', '{"n":1}', '--tz', 'Europe/Berlin', '--overlap', 'skip'],
    ['nightly', '@every 1h', 'double', '--missed', 'all', '--jitter', '30s', '--tag', 'a=b'],
  ],
  'schedule list': [[]],
  'schedule show': [['nightly']],
  'schedule run': [['nightly']],
  'schedule preview': [['nightly'], ['@daily', '--count', '2']],
  'schedule pause': [['nightly', '--reason', 'deploy']],
  'schedule resume': [['nightly'], ['nightly']],
  'schedule remove': [['nightly']],
  'workflow run': [['$flow']],
  'workflow open': [['grow', '--on-end', 'double']],
  'workflow close': [['$workflow'], ['$open'], ['$open']],
  'workflow list': [[], ['--state', 'running'], ['--limit', '1']],
  'workflow show': [['$workflow']],
  'workflow cancel': [['$workflow', '--reason', 'done', '--wait', '0s']],
  'workflow retry': [['$workflow']],
  'workflow wait': [['$ended_workflow']],
  'schedule sync': [['--config', '$schedules', '--prune']],
  events: [[]],
  'keys list': [[], ['--queue', 'default', '--limit', '1']],
  'keys show': [['kept']],
  'keys release': [['kept', 'nowhere']],
  'defaults show': [[]],
  'defaults set': [
    ['--max-attempts', '4', '--dead-retention', '90d'],
    ['--max-attempts', 'default'],
  ],
  completion: [['bash'], ['--json', 'fish', '--', 'list']],
  init: [[], []],
  'db status': [[]],
  'db start': [[]],
  'db url': [[]],
  'db logs': [[]],
  'db stop': [[]],
  'db reset': [['--yes'], ['--server', '--yes']],
};

describe('--json', () => {
  let project: Project;
  let schema: OutputSchema;
  let env: Record<string, string>;
  let tasks: Record<string, string>;

  beforeAll(async () => {
    project = await createProject();
    // Past a pooler, which knows its own role alone.
    const callerUrl = await project.callerUrl();
    env = {
      TASKQ_STATE_DIR: await temporaryDirectory(),
      DATABASE_URL: callerUrl,
      TASKQ_DIRECT_URL: callerUrl,
    };
    tasks = {
      $dead: await project.enqueueDead(),
      $keyed: await project.enqueueDead({ key: 'held' }),
      $completed: await project.enqueue(),
      $waiting: await project.enqueue({
        delay_ms: 3_600_000,
        max_attempts: 5,
        timeout_ms: 1000,
        tags: { a: 'b' },
      }),
    };
    await project.enqueue({ key: 'held', delay_ms: 3_600_000 });
    await project.enqueue({ key: 'kept', key_for: 'ever' });
    await project.client.query(`select taskq.set_queue('ended', '{"record_events": true}')`);
    const ended = await project.enqueue({ queue: 'ended', delay_ms: 3_600_000, tags: { a: 'b' } });
    await project.client.query('select taskq.cancel($1)', [[ended]]);
    const about = {
      host: 'other',
      pid: 1,
      unique_part: 'x',
      concurrency: 2,
      lease_ms: 600_000,
      types: { double: {} },
    };
    const register = async () => {
      const { rows } = await project.client.query<{ worker_id: number }>(
        'select worker_id from taskq.register_worker($1)',
        [about],
      );
      return String(rows[0]!.worker_id);
    };
    tasks.$role = new URL(callerUrl.replace('@/', '@h/')).username;
    tasks.$schedules = join(await temporaryDirectory(), 'schedules.json');
    const weekly = { expression: '@weekly', type: 'double' };
    await writeFile(tasks.$schedules, JSON.stringify({ schedules: { weekly } }));
    const session = sessionOf(project.client);
    const { id: workflow } = await insertWorkflow(session, [
      { step: 'a', status: 'dead' },
      { step: 'b', after: ['a'], on_death: 'wait' },
    ]);
    tasks.$workflow = workflow;
    const end = { state: 'failed', ended_at: new Date() };
    tasks.$ended_workflow = (await insertWorkflow(session, [{ step: 'a', status: 'dead' }], end)).id;
    tasks.$open = (await insertWorkflow(session, [], { is_open: true, state: 'open' })).id;
    tasks.$flow = join(await temporaryDirectory(), 'flow.json');
    await writeFile(tasks.$flow, JSON.stringify({ name: 'w', steps: [{ step: 'a', type: 'double' }] }));
    tasks.$worker = await register();
    tasks.$ended = await register();
    await project.client.query('select taskq.unregister_worker($1)', [tasks.$ended]);
    schema = JSON.parse(await readFile(new URL('output-schema.json', import.meta.url), 'utf8'));
  });
  afterAll(() => project.drop());

  test('every command is described, and tried here', async () => {
    const names = (await namesBelow(COMMANDS.flatMap(({ entries }) => entries))).sort();
    expect(Object.keys(schema.commands).sort()).toEqual(names);
    // One that serves until it is stopped is tried in test/server/serve.
    expect(['serve', ...Object.keys(TRIED)].sort()).toEqual(names);
  });

  test.each(Object.entries(TRIED))(
    'taskq %s prints what output-schema.json says, for a role that has no right on any table',
    async (command, lines) => {
      const url = ['migrate', 'grants'].includes(command) ? project.directUrl : env.DATABASE_URL!;
      for (const line of lines) {
        const args = [...command.split(' '), ...line.map((word) => tasks[word] ?? word), '--json', '--quiet'];
        const { code, stdout, stderr } = await project.run(args, {
          env: { ...env, DATABASE_URL: url, TASKQ_DIRECT_URL: url },
          ...(line.includes('-') && { input: '{"n":-1}\n{"n":2}\n' }),
        });
        expect({ code: code! <= 1, stderr }, args.join(' ')).toEqual({ code: true, stderr: '' });
        const printed = stdout.trimEnd().split('\n');
        if (command !== 'work') expect(printed, args.join(' ')).toHaveLength(1);
        for (const document of printed) {
          const faults = faultsOf(JSON.parse(document), schema.commands[command]!, schema);
          expect(faults, args.join(' ')).toEqual([]);
        }
        if (command === 'work') tasks.$failed = await failedId();
      }
    },
    120_000,
  );

  const failedId = async () => {
    const { rows } = await project.client.query<{ id: string }>(
      'select id from taskq.dead_tasks where attempts = 1',
    );
    return rows[0]!.id;
  };

  test('a task that was waited for, and errors', async () => {
    const waited = project.run(['enqueue', 'double', '{"n":2}', '--wait', '--queue', 'waited', '--json']);
    await project.run(['work', '--max-tasks', '1', '--queues', 'waited', '--quiet', '--poll', '50ms']);
    const { stdout } = await waited;
    expect(faultsOf(JSON.parse(stdout), schema.commands.enqueue!, schema)).toEqual([]);
    for (const args of [
      ['show', 'x'],
      ['show', '1', '--nothing'],
      ['list', '--config', 'nowhere.json'],
    ]) {
      const { stderr } = await project.run([...args, '--json']);
      expect(faultsOf(JSON.parse(stderr), schema.error, schema)).toEqual([]);
    }
  });
});
