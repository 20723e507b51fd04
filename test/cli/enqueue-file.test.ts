import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { refusedAs, WRONG_JSON } from '../support/wrong-json.ts';
import { createProject, type Project } from './project.ts';

describe('taskq enqueue --file', () => {
  let project: Project;
  let other: pg.Client;

  beforeAll(async () => {
    project = await createProject();
    other = await project.connect();
  });
  afterEach(killStartedTaskqs);
  afterAll(() => project.drop());

  const payloads = async (queue: string) => {
    const text = 'select type, payload, priority, unique_key from taskq.tasks where queue = $1 order by id';
    return (await project.client.query(text, [queue])).rows;
  };

  test('NDJSON: a task for every line, blank ones left out, whatever ends them', async () => {
    const file = await project.write('a.ndjson', '\ufeff{"n":1}\r\n\r\n[2]\nnull\n"x"');
    expect(await project.json(['enqueue', 'double', '--file', file, '--queue', 'a'])).toEqual({
      created: 4,
      existing: 0,
      skipped: 0,
      replaced: 0,
      again: 0,
      refused: 0,
    });
    expect((await payloads('a')).map(({ payload }) => payload)).toEqual([{ n: 1 }, [2], null, 'x']);
  });

  test('a JSON array: a task for every element', async () => {
    const input = '[{"n":\n1}, [2,[3]] , "],[", null]';
    const { stdout, stderr } = await project.run(['enqueue', 'double', '--file', '-', '--queue', 'b'], {
      input,
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'enqueued 4 tasks\n', stderr: '' });
    expect((await payloads('b')).map(({ payload }) => payload)).toEqual([{ n: 1 }, [2, [3]], '],[', null]);
  });

  test('a bad line is named by its number, and nothing is enqueued', async () => {
    const input = '{"n":1}\n\n{"n":}\n"\\u0000"\n{"n":2}\n';
    const { code, stdout, stderr } = await project.run(['enqueue', 'double', '--file', '-', '--queue', 'c'], {
      input,
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      'taskq: stdin: line 3, column 6: invalid JSON: expected a value, found "}", near {"n":}',
      'taskq: stdin: line 4: the payload does not fit double: $ has a NUL character (\\u0000)',
      expect.stringMatching(/^taskq: stdin: 2 of 4 items are bad; nothing was enqueued — /),
      '',
    ]);
    expect(await payloads('c')).toEqual([]);
  });

  test('--skip-bad leaves them out', async () => {
    const input = '{"n":1}\n{"n":}\n{"n":2}\n';
    const args = ['enqueue', 'double', '--file', '-', '--queue', 'd', '--skip-bad'];
    expect(await project.json(args, { input })).toMatchObject({ created: 2, existing: 0, skipped: 1 });
    expect(await payloads('d')).toHaveLength(2);
  });

  test('--skip-bad leaves out a line whose numbers take more than 1 MB in the database', async () => {
    const input = `1\n[${Array(20_000).fill('1e308').join()}]\n2\n`;
    const args = ['enqueue', 'double', '--file', '-', '--queue', 'long', '--skip-bad'];
    const { code, stderr } = await project.run(args, { input });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/line 2: .*larger than 1 MB/),
    });
    expect(await payloads('long')).toHaveLength(2);
  });

  test('a task that only the server refuses is named by its line, and what to do before the rest', async () => {
    // Of the name given twice, the server stores the last value with all its digits.
    const bad = `{"n":1,"n":[${Array(70)
      .fill(`0.${'1'.repeat(16_000)}`)
      .join()}]}`;
    const good = '1\n'.repeat(12_000);
    const args = ['enqueue', 'double', '--file', '-', '--queue', 'refused'];
    expect(await project.run(args, { input: `${good}\n\n${good}\n${bad}\n1\n` })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^(enqueued .*\n)*taskq: the task of line 24004 cannot be enqueued: its payload is larger than 1 MB.*; the first 20,000 tasks are enqueued — the rest starts at line 20003; correct or remove line 24004 first, which fails again\n$/,
      ),
    });
    expect(await payloads('refused')).toHaveLength(20_000);
  });

  test('a line that is not UTF-8 is bad', async () => {
    const path = `${project.directory}/latin.ndjson`;
    await writeFile(path, Buffer.from([0x22, 0xe9, 0x22, 0x0a]));
    expect(await project.run(['enqueue', 'double', '--file', path])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('line 1: not UTF-8 text'),
    });
  });

  test('an array that does not end is refused', async () => {
    expect(await project.run(['enqueue', 'double', '--file', '-'], { input: '[1,\n2' })).toMatchObject({
      code: 2,
      stderr: 'taskq: invalid JSON at line 2, column 2: the array does not end\n',
    });
  });

  test('an array that ends with the wrong bracket is refused', async () => {
    expect(
      await project.run(['enqueue', 'double', '--file', '-', '--queue', 'broken'], {
        input: '[{"n":1},\n{"n":2}}',
      }),
    ).toMatchObject({
      code: 2,
      stderr: 'taskq: invalid JSON at line 2, column 8: expected "," or "]", found "}"\n',
    });
    expect(await payloads('broken')).toEqual([]);
  });

  test('payloads are checked against the schema, line by line', async () => {
    const input = '{"to":"ann"}\n{"to":1}\n';
    expect(await project.run(['enqueue', 'send-email', '--file', '-'], { input })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'taskq: stdin: line 2: the payload does not fit send-email: $.to: expected text\n',
      ),
    });
  });

  test.each([
    ['""', 'group "": expected at least one character'],
    [JSON.stringify('ä'.repeat(101)), `group "${'ä'.repeat(59)}…": expected at most 200 bytes`],
    ['5', 'group 5: expected text of 1 to 200 bytes'],
  ])('a group that cannot be is named with its line, and nothing is enqueued: %s', async (group, problem) => {
    const input = `{"payload":{"n":1},"group":"ann"}\n{"payload":{"n":2},"group":${group}}\n`;
    const args = ['enqueue', 'double', '--file', '-', '--envelope', '--queue', 'no-group'];
    expect(await project.run(args, { input })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`taskq: stdin: line 2: ${problem}\n`),
    });
    expect(await payloads('no-group')).toEqual([]);
  });

  test.each([
    ['--on-held', 'replace'],
    ['--key-for', '3d'],
  ])('%s where no line has a key is refused, and nothing is stored', async (...option) => {
    const args = ['enqueue', 'double', '--file', '-', '--envelope', '--queue', 'keyless', ...option];
    expect(await project.run(args, { input: '{"payload": {"n": 1}}\n' })).toMatchObject({
      ...{ code: 2, stdout: '', stderr: `taskq: ${option[0]} needs a key: no line of stdin has one\n` },
    });
    expect(await project.json(['list', '--queue', 'keyless'])).toMatchObject({ tasks: [] });
  });

  test('--on-held: of lines with the same key the last one counts, and one of another type is named', async () => {
    const lines = [
      '{"payload":{"n":1},"key":"h"}',
      '{"payload":{"n":2}}',
      '{"payload":{"to":"ann"},"key":"h","type":"send-email"}',
      '{"payload":{"n":3},"key":"h"}',
      '{"payload":{"n":4},"key":"h","onHeld":"ignore"}',
    ];
    const args = ['enqueue', 'double', '--file', '-', '--envelope', '--queue', 'h', '--on-held', 'replace'];
    const { code, stdout, stderr } = await project.run(args, { input: lines.join('\n') });
    const [first] = (
      await project.client.query("select id from taskq.tasks where queue = 'h' and unique_key = 'h'")
    ).rows;
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout:
        'enqueued 2 tasks, replaced 1, skipped 1 whose key is held, refused 1 whose key is held by a task of another type or group\n',
      stderr: `taskq: stdin: line 3: its key is held by task ${first.id} of type "double", which it cannot replace\n`,
    });
    expect((await payloads('h')).map(({ payload }) => payload)).toEqual([{ n: 2 }, { n: 3 }]);
    const document = await project.run([...args, '--json'], { input: lines.join('\n') });
    expect(JSON.parse(document.stdout)).toEqual({
      ...{ created: 1, existing: 1, skipped: 0, replaced: 2, again: 0, refused: 1 },
    });
  });

  test('--envelope: each line has its own type and options, the payload unchanged', async () => {
    const lines = [
      '{"payload":{"n":1.50},"type":"double","key":"k","queue":"e"}',
      '{"payload":{"to":"ann","payload":"x"},"type":"send-email","priority":"low","queue":"e","tags":{"a":"b"}}',
      '{"queue":"e","payload":null,"key":"k"}',
    ];
    const args = ['enqueue', 'double', '--file', '-', '--envelope', '--priority', '9'];
    expect(await project.json(args, { input: lines.join('\n') })).toMatchObject({
      created: 2,
      existing: 1,
      skipped: 0,
    });
    expect(await payloads('e')).toEqual([
      { type: 'double', payload: { n: 1.5 }, priority: 9, unique_key: 'k' },
      { type: 'send-email', payload: { to: 'ann', payload: 'x' }, priority: 3, unique_key: null },
    ]);
  });

  test('--envelope: what is wrong with one is said with its line', async () => {
    const input =
      '{"payload":1,"type":"dubble"}\n{"payload":1,"prio":2}\n{"x":1}\n[]\n{"payload":1,"delay":"1y"}\n{"payload":1,"onDead":"send-emial"}\n';
    const { code, stderr } = await project.run(['enqueue', 'double', '--file', '-', '--envelope'], { input });
    expect(code).toBe(2);
    expect(stderr).toContain('line 1: unknown type "dubble" (did you mean "double"?)');
    expect(stderr).toContain('line 2: unknown option "prio" (did you mean "priority"?)');
    expect(stderr).toContain('line 3: it has no "payload"');
    expect(stderr).toContain('line 4: expected an object such as {"payload": …}');
    expect(stderr).toContain('line 5: delay "1y": expected');
    expect(stderr).toContain('line 6: unknown type "send-emial" (did you mean "send-email"?)');
    expect(stderr).toContain('has one JSON object such as {"payload": …} per line');
  });

  test('--envelope: a value of another type than its option has is refused with its line', async () => {
    const wrong = WRONG_JSON.flatMap(([option, ...values]) =>
      values.map((value) => [option, value] as const),
    );
    for (let from = 0; from < wrong.length; from += 20) {
      const some = wrong.slice(from, from + 20);
      const lines = some.map(([option, value]) => JSON.stringify({ payload: 1, [option]: value }));
      const args = ['enqueue', 'double', '--file', '-', '--envelope', '--queue', 'wrong'];
      const { code, stderr } = await project.run(args, { input: lines.join('\n') });
      expect(code).toBe(2);
      const problems = stderr.split('\n').map((line) => line.replace('taskq: stdin: ', ''));
      some.forEach(([option, value], n) => {
        expect(problems[n]).toMatch(refusedAs(`line ${n + 1}: `, option, value));
      });
    }
    expect(await payloads('wrong')).toEqual([]);
  });

  test('a temporary directory that cannot be written to is named', async () => {
    const result = await project.run(['enqueue', 'double', '--file', '-'], { env: { TMPDIR: '/nowhere' } });
    expect(result).toMatchObject({
      code: 1,
      stderr: 'taskq: cannot store the input in /nowhere: ENOENT — set TMPDIR to another directory\n',
    });
  });

  test('the hint is --envelope where bad items look like tasks with their options', async () => {
    const input = '{"payload": {}, "key": "k"}\n{"payload": "\\u0000", "key": "k"}\n';
    const { stderr } = await project.run(['enqueue', 'double', '--file', '-'], { input });
    expect(stderr).toMatch(/ — add --envelope if /);
    const wrapped = await project.run(['enqueue', '--envelope', '--file', '-'], { input });
    expect(wrapped.stderr).toMatch(/ — correct them, /);
  });

  test('with --json each bad item is a document on stderr', async () => {
    const { stderr } = await project.run(['enqueue', 'double', '--file', '-', '--json'], { input: '{\n1\n' });
    const codes = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).error.code);
    expect(codes).toEqual(['bad_item', 'bad_items']);
  });

  /** Starts an enqueue of 35,000 lines whose third transaction waits for a key, until `goOn` is called. */
  const stuckInTheMiddle = async (queue: string) => {
    const lines = Array.from(
      { length: 35_000 },
      (_, n) => `{"payload":${n},"queue":"${queue}","key":"k${n}"}`,
    );
    const file = await project.write(`${queue}.ndjson`, lines.join('\n'));
    await project.client.query('begin');
    await project.client.query(`select taskq.enqueue('double', '{}', $1)`, [
      JSON.stringify({ queue, key: 'k22000', allow_unknown: true }),
    ]);
    const taskq = startTaskq(['enqueue', 'double', '--envelope', '--file', file], {
      cwd: project.directory,
      env: { DATABASE_URL: project.url },
    });
    const waiting = `select pid from pg_stat_activity
      where datname = current_database() and application_name = 'taskq enqueue' and wait_event_type = 'Lock'`;
    for (;;) {
      const { rows } = await other.query<{ pid: number }>(waiting);
      if (rows[0] !== undefined)
        return { taskq, pid: rows[0].pid, goOn: () => project.client.query('rollback') };
      await sleep(20);
    }
  };

  test('after a failure the error says how many tasks were enqueued and where to continue', async () => {
    const { taskq, pid, goOn } = await stuckInTheMiddle('f');
    await other.query('select pg_cancel_backend($1)', [pid]);
    const { code } = await taskq.exit;
    await goOn();
    expect({ code, stderr: taskq.stderr() }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /; the first 20,000 tasks are enqueued — the rest starts at line 20001; /,
      ),
    });
    expect(await payloads('f')).toHaveLength(20_000);
  });

  test('SIGINT ends it after the current transaction, and it says how many tasks were enqueued', async () => {
    const { taskq, goOn } = await stuckInTheMiddle('g');
    taskq.kill('SIGINT');
    await sleep(3000); // until it has taken the signal, of which nothing shows
    await goOn();
    expect(await taskq.exit).toEqual({ code: 130, signal: null });
    // Where the machine is slow, lines of progress stand before it.
    expect(taskq.stderr()).toMatch(
      /^((reading|enqueued) .*\n)*taskq: interrupted by SIGINT; the first 30,000 tasks are enqueued — the rest starts at line 30001\n$/,
    );
    expect(await payloads('g')).toHaveLength(30_000);
  });
});
