import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunOptions } from '../support/run-taskq.ts';
import { createProject, type Project } from './project.ts';

/** As jsonb writes it. */
const EXACT = '{"id": 9007199254740993, "of": [0.1000000000000000055, -18446744073709551615]}';
const PLAIN = EXACT.replaceAll(' ', '');

describe('numbers that JavaScript would change', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
    await project.write('exact.ndjson', `${PLAIN}\n`);
    await project.write('exact.json', `[\n${EXACT}\n]`);
    await project.write('envelopes.ndjson', `{"type": "double", "payload": ${EXACT}}\n`);
  });
  afterAll(() => project.drop());

  const stored = async () =>
    (await project.client.query('select payload::text from taskq.tasks order by id desc limit 1')).rows[0];

  test.each<[string[], RunOptions?]>([
    [['double', PLAIN]],
    [['double', '-'], { input: EXACT }],
    [['double', '--file', 'exact.ndjson']],
    [['double', '--file', 'exact.json']],
    [['--file', 'envelopes.ndjson', '--envelope']],
  ])('reach the database by enqueue %j', async (args, options) => {
    await project.json(['enqueue', ...args], options);
    expect(await stored()).toEqual({ payload: EXACT });
  });

  test('and by dead revive --payload', async () => {
    const id = await project.enqueueDead();
    await project.json(['dead', 'revive', id, '--payload', PLAIN]);
    expect(await stored()).toEqual({ payload: EXACT });
  });

  test.each<[string[]]>([
    [['list', '--json']],
    [['list']],
    [['show', 'id', '--json']],
    [['dead', 'list', '--json']],
    [['dead', 'list']],
    [['dead', 'show', 'id', '--json']],
  ])('are printed by %j', async (args) => {
    const id = await project.enqueueDead();
    await project.client.query('update taskq.dead_tasks set payload = $1', [EXACT]);
    const { stdout } = await project.run(args.map((arg) => (arg === 'id' ? id : arg)));
    expect(stdout).toContain(PLAIN);
  });

  test('show prints them to people, line by line', async () => {
    const id = await project.enqueueDead();
    await project.client.query('update taskq.dead_tasks set payload = $1', [EXACT]);
    const { stdout } = await project.run(['show', id]);
    expect(stdout).toContain('    "id": 9007199254740993,\n');
  });

  test.each([['--json'], ['--quiet']])('are a result that is waited for, with %s', async (option) => {
    const waiting = project.run(['enqueue', 'double', '{"n":1}', '--queue', 'waited', '--wait', option]);
    let ended = 0;
    while (ended === 0) {
      const { rowCount } = await project.client.query(
        `select taskq.settle(1, json_build_array(json_build_object(
           'id', id, 'lease_no', lease_no, 'outcome', 'completed', 'ran_ms', 1, 'result', $1::json
         ))) from taskq.claim(1, '{waited}', '{double}', 1, 0, 30000) where pg_sleep(0.05) is not null`,
        [EXACT],
      );
      ended = rowCount ?? 0;
    }
    expect((await waiting).stdout).toContain(PLAIN);
  });
});
