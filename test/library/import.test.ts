import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';

/** Runs a program that imports us, and returns what it prints. */
function printed(program: string): unknown {
  const text = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  });
  return JSON.parse(text);
}

test('importing it does nothing: nothing is opened, heard or changed', () => {
  const program = `
    const look = () => ({
      resources: process.getActiveResourcesInfo().sort(),
      listeners: process.eventNames().map(String).sort(),
      globals: Object.getOwnPropertyNames(globalThis).sort(),
    });
    const before = look();
    await import('taskq');
    let after;
    // Until the files it was read from are closed.
    for (let looks = 0; looks < 500 && JSON.stringify(after) !== JSON.stringify(before); looks++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      after = look();
    }
    console.log(JSON.stringify([before, after]));`;
  const [before, after] = printed(program) as [object, object];
  expect(after).toEqual(before);
});

test('nor does it load what only a worker or a connection needs', () => {
  const program = `
    import { createRequire } from 'node:module';
    const queue = new (await import('taskq')).TaskQueue({ databaseUrl: 'postgres://localhost/x' });
    const loaded = Object.keys(createRequire(process.cwd() + '/')('node:module')._cache);
    const names = loaded.map((path) => /node_modules.((?:@[^/\\\\]+.)?[^/\\\\]+)/.exec(path)?.[1]);
    await queue.close();
    console.log(JSON.stringify([...new Set(names)]));`;
  expect(printed(program)).toEqual([]);
});
