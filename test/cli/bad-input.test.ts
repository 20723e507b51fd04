import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('bad input', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const refused = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await project.run(args);
    expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' });
    return stderr;
  };

  test('bad JSON: the error has the position and the text there', async () => {
    expect(await refused(['enqueue', 'double', '{"n": 1,}'])).toBe(
      'taskq: invalid JSON at line 1, column 9: expected a name in double quotes, found "}", near {"n": 1,}\n',
    );
  });

  test.each([['--delay'], ['--timeout'], ['--expires'], ['--wait']])(
    'a bad duration of %s: the error says what was expected',
    async (option) => {
      expect(await refused(['enqueue', 'double', '{}', option, '10 minutes'])).toMatch(
        /"10 minutes": expected a duration such as 500ms, 30s, 1h30m, 7d or PT10M/,
      );
    },
  );

  test('a bad queue: the error says what is wrong with it', async () => {
    expect(await refused(['enqueue', 'double', '--queue', 'a\tb'])).toBe(
      'taskq: --queue "a\\tb": control characters are not allowed\n',
    );
  });

  test('--priority 10: "0 is the most urgent, 9 the least"', async () => {
    expect(await refused(['enqueue', 'double', '--priority', '10'])).toBe(
      'taskq: --priority "10": expected 0 to 9 (0 is the most urgent, 9 the least) or critical, high, medium, low\n',
    );
  });

  test('--priority hgh: the error suggests "high"', async () => {
    expect(await refused(['enqueue', 'double', '--priority', 'hgh'])).toContain(
      'or critical, high, medium, low (did you mean "high"?)',
    );
  });

  test.each([
    [['list', '--key', ''], '--key "": expected at least one character'],
    [['list', '--priority', 'x'], '--priority "x": expected 0 to 9'],
    [['enqueue', 'double', '--group', ''], '--group "": expected at least one character'],
    [
      ['enqueue', 'double', '--group', 'g'.repeat(201)],
      `--group "${'g'.repeat(59)}…": expected at most 200 bytes`,
    ],
    [['enqueue', 'double', '--on-held', 'replace'], '--on-held "replace" needs --key'],
    [['groups', 'set', 'q', 'ann', '--limit', '0'], '--limit "0": expected a whole number from 1'],
    [['groups', 'set', 'q', 'ann'], 'nothing to set: give --limit 1'],
    [['groups', 'set', 'q', '', '--limit', '1'], 'group "": expected at least one character'],
    [['groups', 'pause', 'q', 'g'.repeat(201)], `group "${'g'.repeat(59)}…": expected at most 200 bytes`],
    [['groups', 'resume', '', 'ann'], 'queue "": expected at least one character'],
    [['groups', 'show', 'q', ' ann'], 'group " ann": blanks at the beginning or end are not allowed'],
    [['groups', 'list', 'q', '--limit', '0'], '--limit'],
    [['types', 'set', 'double', '--queue', ''], '--queue "": expected at least one character'],
    [['enqueue', 'double', '--backoff', 'fixed,x'], '--backoff base "x": expected a duration'],
    [['queues', 'set', 'a', '--backoff', 'linear,1s,jitter=2'], '--backoff: jitter 2: expected a number'],
  ])('%j is refused by the name of the option that was typed', async (args, message) => {
    expect(await refused(args)).toContain(`taskq: ${message}`);
  });

  test('--at needs an offset', async () => {
    expect(await refused(['enqueue', 'double', '--at', '2030-01-31T09:00:00'])).toContain(
      'expected Z or an offset at the end',
    );
  });

  test('--at and --delay exclude each other', async () => {
    expect(await refused(['enqueue', 'double', '--at', '2030-01-31T09:00:00Z', '--delay', '1s'])).toContain(
      'either --at or --delay',
    );
  });

  test.each([
    [
      ['enqueue', 'double', '--max-attempts', '0'],
      '--max-attempts "0": expected a whole number from 1, or unlimited',
    ],
    [['dead', 'revive', '1', '--max-attempts', 'x'], '--max-attempts "x": expected a whole number'],
    [['enqueue', 'double', '--file', '-', '--timeout', '0s'], '--timeout "0s": expected more than 0'],
    [['enqueue', 'double', '--at', 'now'], '--at "now": expected a date and time'],
    [['enqueue', 'double', '--key-for', '24h'], '--key-for needs --key'],
    [['enqueue', 'double', '--on-held', 'replace'], '--on-held "replace" needs --key'],
    [
      ['enqueue', 'double', '--key', 'k', '--on-held', 'replcae'],
      '--on-held "replcae": expected ignore, replace or preserve (did you mean "replace"?)',
    ],
    [
      ['enqueue', 'double', '--file', 'a.ndjson', '--on-held', 'no'],
      '--on-held "no": expected ignore, replace or',
    ],
    [
      ['enqueue', 'double', '--file', 'a.ndjson', '--on-held', 'replace'],
      '--on-held needs --envelope: a line that is a payload has no key',
    ],
    [['enqueue', 'double', '--key', 'k', '--key-for', 'a day'], '--key-for "a day": expected live, ever'],
    [['enqueue', 'double', '--tag', 'x'], '--tag "x": expected name=value'],
    [
      ['cancel', '--all', '--tag', 'env=a', '--tag', 'env=b'],
      '--tag env: given as "a" and as "b"; a task has one',
    ],
    [
      ['list', '--where', 'payload.n=1', '--where', 'payload.n=2'],
      '--where payload.n: given as "1" and as "2"; a task has one',
    ],
    [
      ['enqueue', 'double', '--retention', '90m'],
      '--retention "90m": expected none, ever, or whole days such as 7d',
    ],
    [['enqueue', 'double', '{}', '--file', 'x'], 'either as an argument or with --file'],
    [['enqueue', 'double', '--file', 'nowhere.ndjson'], 'cannot read nowhere.ndjson: no such file'],
    [['enqueue', 'double', '--wait', '{}'], 'the type and the payload go before --wait, or write --wait=30s'],
    [['enqueue', '--wait', 'double', '{"n":1}'], '--wait "double": '],
    [['enqueue', '--wait', 'double'], 'the type and the payload go before --wait, or write --wait=30s'],
    [['enqueue', 'double', '"\\u0000"'], 'the payload does not fit double: $ has a NUL character'],
    [['enqueue', '../x'], '. and .. are not allowed'],
    [['enqueue'], 'the type is missing'],
    [['show', 'x'], 'id "x": expected the number of a task, such as 12'],
    [
      ['dead', 'show', '5f3a2b9c0d'],
      'expected the number of a task, such as 12 — the digits of a group of dead letters go with --fingerprint: taskq dead',
    ],
    [['enqueue', 'greet', 'Ann'], `near Ann — the payload is JSON, in which text is written '"Ann"'`],
    [['show', '9223372036854775808'], 'expected the number of a task'],
    [
      ['list', '--status', 'pendin'],
      'expected one of blocked, pending, leased, running, completed, cancelled, expired, dead (did you mean "pending"?)',
    ],
    [['list', '--limit', '0'], 'expected a whole number from 1'],
    [
      ['list', '--since', 'yesterday'],
      '--since "yesterday": expected a time such as 2030-01-31 or 2030-01-31T09:00:00Z, or a duration',
    ],
    [['list', '--after', 'x'], '--after "x": expected the number of a task'],
    [['stats', '--since', '1y'], '--since "1y": expected a duration'],
    [['cancel'], 'give either ids of tasks or a filter: --status, --failed, --type, --queue'],
    [
      ['cancel', '1', '--type', 'x'],
      'give either ids of tasks or a filter: --status, --failed, --type, --queue',
    ],
    [['dead', 'revive'], 'give either ids of tasks or a filter: --type, --queue, --tag'],
    [['dead', 'revive', '1', '--payload', '{'], 'invalid JSON at line 1, column 2'],
    [['enqueue', 'double', '--priority', 'hihg'], '(did you mean "high"?)'],
    [['enqueue', 'double', '--backoff', 'exponental,5s'], '(did you mean "exponential"?)'],
    [['list', '--status', 'daed'], '(did you mean "dead"?)'],
    [['dead', 'add', '1'], "required option '--reason <text>' not specified"],
    [['db', 'logs', '--lines', 'all'], '--lines "all": expected a whole number from 1'],
    [['list', '--config', 'nowhere.json'], 'nowhere.json: no such file'],
  ])('taskq %j is refused with the reason, exit 2', async (args, problem) => {
    expect(await refused(args)).toContain(problem);
  });

  test('a setting of the configuration file: its name, the file and what was expected', async () => {
    const file = await project.write('bad.json', '{"lease": "5x"}');
    expect(await refused(['list', '--config', file])).toMatch(
      /^taskq: lease \(file .*bad\.json\): expected a duration.*, got "5x"\n$/,
    );
  });

  const needsYes = async (args: readonly string[]) =>
    expect(await refused(args)).toMatch(
      /^taskq: this would (cancel|delete|permanently delete) .*, and there is no terminal to confirm it — add --yes\n$/,
    );

  test.each([[['db', 'reset']], [['db', 'reset', '--server']]])(
    'taskq %j is destructive: without a terminal it needs --yes',
    async (args) => needsYes(args),
  );

  test('cancel by a filter and dead discard need --yes without a terminal', async () => {
    const enqueued = await project.run(['enqueue', 'double', '--delay', '1h']);
    const id = enqueued.stdout.trim();
    await needsYes(['cancel', '--type', 'double']);
    await project.run(['dead', 'add', id, '--reason', 'why']);
    await needsYes(['dead', 'discard', id]);
  });
});
