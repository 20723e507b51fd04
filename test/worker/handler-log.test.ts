import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { useWorkers } from './support/workers.ts';

const queue = useWorkers();

const HANDLER = `export default (_, { log }) => {
  const circular = {};
  circular.self = circular;
  const throwing = { get bad() { throw new Error('no'); }, good: 1 };
  const unreadable = new Proxy({}, { ownKeys() { throw new Error('no'); } });
  for (const value of [Symbol('m'), () => 1, 10n, undefined, null, circular, throwing, unreadable]) {
    log.info(value);
    log.info('field', { value });
    log.info('fields', value);
  }
};`;

test('whatever a handler logs is a line of JSON, and fails no attempt', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'talk.mjs'), HANDLER);
  const id = await queue.enqueue('talk');
  const worker = queue.work(['--until-idle'], { handlers: directory });
  expect(await worker.exit).toMatchObject({ code: 0 });
  expect(await queue.task(id)).toMatchObject({ status: 'completed' });
  const lines = worker
    .stdout()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const logged = lines.filter(({ event }) => event === 'task.log');
  expect(logged).toHaveLength(3 * 8);
  expect(logged.map(({ msg }) => typeof msg)).toEqual(logged.map(() => 'string'));
  expect(logged[0]).toMatchObject({ msg: 'Symbol(m)', task_id: id });
  expect(logged).toContainEqual(
    expect.objectContaining({ msg: 'fields', fields: expect.objectContaining({ good: 1 }) }),
  );
});

test.each(['inline', 'process'])(
  'an error in the fields is logged with its message and stack (%s)',
  async (isolation) => {
    const directory = await temporaryDirectory();
    await writeFile(
      join(directory, 'report.mjs'),
      `export default {
      isolation: '${isolation}',
      run: (_, { log }) => {
        const error = new TypeError('no such table', { cause: new Error('a cause') });
        log.warn('instead of fields', error);
        log.warn('beside others', { error, rows: 3 });
        log.warn('a text', 'in detail');
      },
    };`,
    );
    await queue.enqueue('report');
    const worker = queue.work(['--until-idle'], { handlers: directory });
    expect(await worker.exit).toMatchObject({ code: 0 });
    const lines = worker.stdout().trimEnd().split('\n');
    const logged = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'task.log');
    const error = {
      name: 'TypeError',
      message: 'no such table',
      stack: expect.stringMatching(/^TypeError: no such table\n +at .*report\.mjs:\d+:\d+\)?$/),
      cause: expect.objectContaining({ message: 'a cause' }),
    };
    expect(logged.map(({ fields }) => fields)).toEqual([
      { error: expect.objectContaining(error) },
      { error: expect.objectContaining(error), rows: 3 },
      { value: 'in detail' },
    ]);
  },
);

test.each(['inline', 'process'])(
  'no field of a handler is taken for one of the log (%s)',
  async (isolation) => {
    const directory = await temporaryDirectory();
    const fields = { event: 'worker.stopped', level: 'error', msg: 'forged', time: 0, task_id: '0' };
    await writeFile(
      join(directory, 'forge.mjs'),
      `export default {
        isolation: '${isolation}',
        run: (_, { log }) => { log.info('said', ${JSON.stringify(fields)}); },
      };`,
    );
    const id = await queue.enqueue('forge');
    const worker = queue.work(['--until-idle'], { handlers: directory });
    expect(await worker.exit).toMatchObject({ code: 0 });
    const lines = worker.stdout().trimEnd().split('\n');
    const [line, ...more] = lines.filter((text) => text.includes('forged'));
    expect(more).toEqual([]);
    expect(JSON.parse(line!)).toMatchObject({
      event: 'task.log',
      level: 'info',
      msg: 'said',
      task_id: id,
      type: 'forge',
      attempt: 1,
      fields,
    });
    expect(line!.match(/"event":/g)).toHaveLength(2);
  },
);

test.each(['inline', 'process'])(
  'what a handler prints goes to stderr: stdout is the log, and nothing else (%s)',
  async (isolation) => {
    const directory = await temporaryDirectory();
    await writeFile(
      join(directory, 'print.mjs'),
      `export const isolation = '${isolation}';
      export default (_, { log }) => {
        process.stdout.write('raw without an end of line');
        console.log('a line');
        log.info('logged');
      };`,
    );
    await queue.enqueue('print');
    const worker = queue.work(['--until-idle'], { handlers: directory });
    expect(await worker.exit).toMatchObject({ code: 0 });
    const events = worker
      .stdout()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect(events).toContain('task.log');
    expect(worker.stderr()).toBe('raw without an end of linea line\n');
  },
);
