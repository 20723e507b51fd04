import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Handlers cannot import the package from a temporary directory: a signal is recognized by its mark. */
const DEAD = `const dead = new Error('no more');
  dead.name = 'Dead';
  dead[Symbol.for('taskq.signal')] = 'dead';
  dead.reason = 'no more';`;

test.each(['mjs', 'ts'])(
  'the stored stack of what a handler of .%s throws ends where taskq called it, whatever it throws',
  async (ending) => {
    const directory = await temporaryDirectory();
    const handlers = {
      'dead-early': `export default () => { ${DEAD} throw dead; };`,
      'dead-late': `export default async () => { await null; ${DEAD} throw dead; };`,
      'error-early': `export default () => { throw new Error('no more'); };`,
      'error-late': `export default async () => { await null; throw new Error('no more'); };`,
    };
    for (const [type, source] of Object.entries(handlers))
      await writeFile(join(directory, `${type}.${ending}`), source);
    for (const type of Object.keys(handlers)) await queue.enqueue(type, {}, { max_attempts: 1 });
    const worker = queue.work(['--until-idle'], { handlers: directory });
    expect(await worker.exit, worker.stdout()).toMatchObject({ code: 0 });
    const stored = await queue.rows<{ type: string; reason: string; stack: string }>(
      "select type, reason, error ->> 'stack' as stack from taskq.dead_tasks order by type",
    );
    expect(stored.map(({ type }) => type)).toEqual(Object.keys(handlers));
    expect(stored[0]!.reason).toBe('no more');
    for (const { type, stack } of stored) {
      const frames = stack
        .split('\n')
        .filter((line) => line.startsWith('    at ') && !line.includes('(node:'));
      expect(frames, stack).toHaveLength(1);
      expect(frames[0]).toContain(`${type}.${ending}`);
    }
  },
);
