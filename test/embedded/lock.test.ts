import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { tryLock } from '../../src/embedded/lock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { endProcesses, runInProcess } from './processes.ts';

afterEach(endProcesses);

test('a lock that is held names its holder, and one that is released can be taken', async () => {
  const path = join(await temporaryDirectory(), 'lock');
  const first = await tryLock(path);
  expect(first).toHaveProperty('release');
  expect(await tryLock(path)).toMatchObject({ pid: process.pid });
  if (first && 'release' in first) await first.release();
  expect(await tryLock(path)).toHaveProperty('release');
});

test('however many want it and however often a holder is killed, it has one holder at a time', async () => {
  const directory = await temporaryDirectory();
  const ends = await Promise.allSettled(
    Array.from({ length: 12 }, () => runInProcess('embedded/lock.js', contender(directory))),
  );
  const killed = ends.filter((end) => end.status === 'rejected');
  for (const { reason } of killed) expect(String(reason)).toContain('SIGKILL');
  expect(killed).toHaveLength(12);
  expect((await readFile(join(directory, 'entered'), 'utf8')).length).toBe(12 * ROUNDS);
  await expect(readFile(join(directory, 'violated'), 'utf8')).rejects.toMatchObject({ code: 'ENOENT' });
});

const ROUNDS = 15;

/** Takes the lock again and again, notes if somebody else is inside, and is killed while it holds it. */
function contender(directory: string): string {
  return `
    import { appendFile, rm, writeFile } from 'node:fs/promises';
    import { setTimeout as sleep } from 'node:timers/promises';
    process.chdir(${JSON.stringify(directory)});
    const take = async () => {
      for (;;) {
        const found = await ours.tryLock('lock');
        if (found && 'release' in found) return found;
        await sleep(Math.random() * 3);
      }
    };
    for (let round = 1; ; round++) {
      const lock = await take();
      await writeFile('inside', '', { flag: 'wx' }).catch(() => appendFile('violated', 'x'));
      await appendFile('entered', 'x');
      await sleep(Math.random() * 2);
      await rm('inside', { force: true });
      if (round === ${ROUNDS}) process.kill(process.pid, 'SIGKILL');
      await lock.release();
    }`;
}
