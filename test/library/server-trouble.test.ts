import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TaskqError } from '../../src/index.ts';
import { runCommand } from '../support/run-command.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { openPool, useLibrary } from './use-queue.ts';

const library = useLibrary();

/** What the server says of itself, and what our error of it is called and advises. */
const TROUBLES: readonly (readonly [state: string, code: string, hint: RegExp])[] = [
  ['08006', 'connection_failed', /^try again$/],
  ['25006', 'read_only', /primary/],
  ['28000', 'database_refused', /the user, the password/],
  ['3D000', 'database_refused', /create the database/],
  ['53000', 'database_trouble', /log/],
  ['53100', 'database_trouble', /disk/],
  ['53200', 'database_trouble', /memory/],
  ['53300', 'database_trouble', /max_connections/],
  ['57014', 'database_trouble', /time limit/],
  ['57P01', 'connection_failed', /stopping or starting/],
  ['57P03', 'connection_failed', /stopping or starting/],
  ['57P04', 'database_refused', /dropped/],
  ['58030', 'database_trouble', /files/],
  ['58P01', 'database_trouble', /files/],
  ['XX000', 'database_trouble', /full disk/],
  ['XX001', 'database_trouble', /backup/],
  ['XX002', 'database_trouble', /reindex/],
];

const MESSAGE = "could not do it: it's 'so'";
const FUNCTIONS = ['enqueue', 'enqueue_many', 'stats', 'claim'];

/** Its own words of the functions, to be put back. */
let before: readonly string[];

beforeEach(async () => {
  before = (
    await library.admin.rows<{ text: string }>(
      `select pg_get_functiondef(oid) as text from pg_proc
       where pronamespace = 'taskq'::regnamespace and proname = any ($1)`,
      FUNCTIONS,
    )
  ).map(({ text }) => text);
});
afterEach(async () => {
  await killStartedTaskqs();
  for (const text of before) await library.admin.rows(text);
});

/** Have every call of these functions fail so. */
async function fail(state: string): Promise<void> {
  const broken = `begin raise exception using errcode = '${state}', message = '${MESSAGE.replaceAll("'", "''")}'; end`;
  for (const text of before) {
    await library.admin.rows(text.replace(/\bAS \$function\$[\s\S]*/, `AS $function$${broken}$function$`));
  }
}

describe('what the server says of itself', () => {
  test.each(TROUBLES)(
    '%s is named with the server and what to do, and its own error is the cause',
    async (state, code, hint) => {
      await fail(state);
      const queue = library.open();
      const one = await queue.enqueue('report').catch((error: unknown) => error);
      expect(one).toBeInstanceOf(TaskqError);
      expect(one).toMatchObject({
        ...{ code, hint: expect.stringMatching(hint), cause: { code: state } },
        message: expect.stringMatching(/^the database postgres(?:ql)?:\/\/\S+: could not do it: it's 'so'$/),
      });
      const many = queue.enqueueMany([{ type: 'report' }]);
      await expect(many).rejects.toMatchObject({ code: 'partly_enqueued', cause: { code } });
    },
  );

  test("keeps its own form in a transaction of the application's, which may be waiting for it", async () => {
    await fail('57014');
    const pool = openPool(library.url, 1);
    const client = await pool.connect();
    const queue = library.open({ pool });
    await client.query('begin');
    await expect(queue.enqueue('report', {}, { client })).rejects.toMatchObject({
      code: '57014',
      message: MESSAGE,
    });
    await client.query('rollback');
    client.release();
    await expect(queue.enqueue('report')).rejects.toMatchObject({
      code: 'database_trouble',
      message: `the database: ${MESSAGE}`,
    });
    await pool.end();
  });

  test.each([
    ['XX000', ['stats']],
    ['53100', ['enqueue', 'report', '--allow-unknown']],
    ['58030', ['stats']],
    ['25006', ['enqueue', 'report', '--allow-unknown']],
  ])('%s is a line on the command line, and no bug: taskq %j', async (state, args) => {
    await fail(state);
    const { code, stderr } = await runCommand(args, { env: { DATABASE_URL: library.url } });
    const hint = TROUBLES.find(([of]) => of === state)![2].source;
    expect(stderr).toMatch(
      new RegExp(`^taskq: the database \\S+: could not do it: it's 'so' — [^\\n]*${hint}[^\\n]*\\n$`),
    );
    expect(code).toBe(1);
  });

  test('more than the server takes at once is refused in a line, with what to do', async () => {
    await fail('54000');
    const args = ['enqueue', 'report', '--allow-unknown'];
    expect(await runCommand(args, { env: { DATABASE_URL: library.url } })).toMatchObject({
      code: 2,
      stderr: "taskq: could not do it: it's 'so' — send less at once, or store large data elsewhere\n",
    });
    await expect(library.open().enqueue('report')).rejects.toMatchObject({ code: 'refused' });
  });

  test('is a line in the log of a worker, which goes on when it is over', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('hello-js', {}, { allowUnknown: true });
    await fail('53100');
    const worker = startTaskq(['work', '--handlers', 'test/worker/handlers', '--types', 'hello-js'], {
      env: { DATABASE_URL: library.url, TASKQ_POLL: '50ms' },
    });
    const line = await worker.waitForLog(({ event }) => event === 'statement.failed');
    expect((line.error as { message: string }).message).toMatch(
      /^the database \S+: could not do it: it's 'so' — free space on the server's disk$/,
    );
    for (const text of before) await library.admin.rows(text);
    expect(await queue.wait(id)).toMatchObject({ status: 'completed' });
  });
});
