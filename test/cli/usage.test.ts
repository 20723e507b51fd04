import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { runTaskq } from '../support/run-taskq.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';

describe('a command line that is wrong', () => {
  test.each([
    [['enqeue'], "unknown command 'enqeue' (did you mean enqueue?) — see taskq --help"],
    [['dead', 'lst'], "unknown command 'lst' (did you mean list?) — see taskq dead --help"],
    [['workers', 'pasue', '3'], "unknown command 'pasue' (did you mean pause?) — see taskq workers --help"],
    [['key', 'list'], "unknown command 'key' (did you mean keys?) — see taskq --help"],
    [
      ['--config', 'list', 'default', 'show'],
      "unknown command 'default' (did you mean defaults?) — see taskq --help",
    ],
    [['help', 'enqeue'], "unknown command 'enqeue' (did you mean enqueue?) — see taskq --help"],
    [['help', 'dead', 'revve'], "unknown command 'revve' (did you mean revive?) — see taskq dead --help"],
    [['enqeue', '--help'], "unknown command 'enqeue' (did you mean enqueue?) — see taskq --help"],
    [['revive', '3'], "unknown command 'revive' (did you mean dead revive?) — see taskq --help"],
    [
      ['pause', 'mail'],
      "unknown command 'pause' (did you mean queues pause, workers pause, groups pause or schedule pause?) — see taskq --help",
    ],
    [['workers', '3', '-h'], "unknown command '3' — see taskq workers --help"],
    [['workers', '3'], "unknown command '3' — see taskq workers --help"],
    [['workers', '--al'], "unknown option '--al' (did you mean --all?) — see taskq workers --help"],
    [['list', '--limt', '3'], "unknown option '--limt' (did you mean --limit?) — see taskq list --help"],
    [['--qiet', 'list'], "unknown option '--qiet' (did you mean --quiet?) — see taskq list --help"],
    [['show'], "missing required argument 'id' — see taskq show --help"],
    [
      ['work', '--queues', 'a', '--concurrency', '2', '--queues', 'b'],
      "option '--queues <a,b>' is given twice: separate the names with commas — see taskq work --help",
    ],
    [['list', '--type'], "option '--type <type>' argument missing — see taskq list --help"],
    [
      ['stats', 'now'],
      "too many arguments for 'stats'. Expected 0 arguments but got 1 — see taskq stats --help",
    ],
    [
      ['retry', '--status', 'pending'],
      '--status: only waiting tasks can be retried; dead letters are revived, ended tasks rerun',
    ],
    [['cancel', '--by-hand'], '--by-hand: only dead letters can be added by hand'],
    [
      ['list', '--where', 'order.id=42'],
      '--where "order.id=42": expected a path and a value, as in payload.order.id=42',
    ],
    [['list', '--where', 'payload.order..id=42'], '--where "order..id": expected a path such as order.id'],
    [['rerun', '--failed'], '--failed: tasks that failed for good are dead letters: taskq dead list'],
    [['dead', 'revive', '--status', 'dead'], '--status: dead letters have no other status'],
    [
      ['stats', '--queue', 'mail'],
      '--queue: stats counts all tasks, by queue, status and type; taskq list takes filters',
    ],
    [
      ['purge', '--status', 'complete'],
      '--status "complete": expected one of completed, cancelled, expired (did you mean "completed"?)',
    ],
    [['purge', '--since', '2d', '--before', '30d'], '--before is not after --since: no task can match'],
    [['purge', '1', '--limit', '3'], '--limit needs a filter or --all'],
  ])('taskq %j says what is wrong with the nearest suggestion, and exits 2', async (args, printed) => {
    expect(await runCommand(args)).toMatchObject({ code: 2, stdout: '', stderr: `taskq: ${printed}\n` });
  });

  test('with --json the error is one JSON document on stderr', async () => {
    const { code, stderr } = await runCommand(['lisst', '--json']);
    const error = {
      code: 'usage',
      message: "unknown command 'lisst' (did you mean list?)",
      hint: 'see taskq --help',
    };
    expect({ code, printed: JSON.parse(stderr) }).toEqual({ code: 2, printed: { error } });
  });

  test('a command without its subcommand prints its help on stderr and exits 2', async () => {
    const { code, stdout, stderr } = await runCommand(['dead']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: taskq dead');
  });
});

describe('help', () => {
  test('names every command on stdout', async () => {
    const { code, stdout, stderr } = await runCommand(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of [
      'enqueue',
      'work',
      'list',
      'show',
      'cancel',
      'retry',
      'edit',
      'purge',
      'stats',
      'dead',
      'queues',
      'workers',
      'types',
      'init',
      'migrate',
      'config',
      'db',
      'completion',
    ]) {
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    }
  });

  test.each([60, 80])('is broken at blanks in a terminal of %i columns', async (columns) => {
    const binary = join(REPOSITORY, 'bin/taskq.js');
    for (const command of ['enqueue', 'stats', 'list', 'queues pause', 'dead add', 'cancel']) {
      const typed = `stty cols ${columns}; node ${binary} ${command} --help`;
      const { stdout } = await promisify(execFile)('script', ['-qec', typed, '/dev/null']);
      const lines = stdout.split('\r\n');
      expect(lines.length).toBeGreaterThan(10);
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
    }
  });

  test.each(['enqueue', 'work', 'list', 'schedule add', 'workflow run', 'dead revive'])(
    'of %s has no line of more than 80 columns where no terminal says its width',
    async (command) => {
      const { stdout } = await runCommand([...command.split(' '), '--help']);
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    },
  );

  test('of a command has its options and the global ones', async () => {
    const { stdout } = await runCommand(['dead', 'revive', '--help']);
    expect(stdout).toContain('Usage: taskq dead revive [options] <id...> | <filter> | --all');
    for (const option of [
      '--payload',
      '--delay',
      '--max-attempts',
      '--database-url',
      '--config',
      '--json',
      '--quiet',
      '--no-color',
    ]) {
      expect(stdout).toContain(option);
    }
  });

  test.each([
    [['help'], ['--help']],
    [['help', 'help'], ['--help']],
    [
      ['help', 'dead'],
      ['dead', '--help'],
    ],
    [
      ['help', 'dead', 'revive'],
      ['dead', 'revive', '--help'],
    ],
    [
      ['--json', 'help', 'queues', 'pause'],
      ['queues', 'pause', '--help'],
    ],
  ])('taskq %j prints what taskq %j prints', async (asked, same) => {
    const answer = await runCommand(asked);
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(answer.stdout).toBe((await runCommand(same)).stdout);
  });

  test('of a command shows required options in its usage', async () => {
    const { stdout } = await runCommand(['dead', 'add', '--help']);
    expect(stdout).toContain('Usage: taskq dead add [options] --reason <text> <id>\n');
  });

  test('loads none of the large packages', async () => {
    const { stderr } = await runTaskq(['--help'], { env: { NODE_DEBUG: 'esm,module' } });
    expect(stderr).toMatch(/dist\/bundled\/program/);
    expect(stderr).not.toMatch(/node_modules\/(pg|ora|cosmiconfig|pino|jiti|string-width)\//);
  });

  test('--version prints the version', async () => {
    expect(await runCommand(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/),
    });
  });
});
