import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { TaskQueue } from '../../src/index.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
afterAll(() => project.drop());

test('the dead letters of one bug are counted, listed and revived by the first digits of their fingerprint', async () => {
  const ids = [await project.enqueueDead(), await project.enqueueDead(), await project.enqueueDead()];
  await project.run(['dead', 'add', ids[2]!, '--reason', 'parked']);
  const queue = new TaskQueue({ databaseUrl: project.url });
  onTestFinished(() => queue.close());
  const { groups } = await project.json(['dead', 'groups']);
  expect(groups).toMatchObject([
    { count: 2, type: 'double', last_id: ids[1] },
    { count: 1, reason: 'parked' },
  ]);
  expect(await queue.deadGroups({ limit: 1 })).toMatchObject([
    { count: 2, lastAt: new Date(groups[0].last_at) },
  ]);
  const { stdout } = await project.run(['dead', 'groups']);
  expect(stdout).toMatch(
    /^FINGERPRINT +DEAD +TYPE +ERROR .*\n[0-9a-f]{10} +2 +double +attempts_spent +0 → 2 an hour/,
  );
  const digits: string = groups[0].fingerprint.slice(0, 6);
  const listed = await project.json(['dead', 'list', '--fingerprint', digits]);
  expect(listed.tasks.map(({ id }: { id: string }) => id)).toEqual([ids[1], ids[0]]);
  expect((await queue.list({ fingerprint: digits }).page()).tasks).toHaveLength(2);
  expect(await project.json(['dead', 'revive', '--fingerprint', digits, '--limit', '1'])).toMatchObject({
    revived: 1,
  });
  expect(await queue.list({ fingerprint: digits }).revive()).toMatchObject({ counts: { revived: 1 } });
  expect(await project.json(['dead', 'groups'])).toMatchObject({ groups: [{ reason: 'parked' }] });
  expect((await project.run(['dead', 'discard', '--all', '--by-hand', '--yes'])).code).toBe(0);
  expect((await project.run(['dead', 'groups'])).stderr).toBe('no dead letters\n');
});

test.each([
  [
    ['dead', 'list', '--fingerprint', 'F3%'],
    '--fingerprint "F3%": expected the first digits of a fingerprint',
  ],
  [['retry', '--fingerprint', 'f3'], '--fingerprint: only dead letters have a fingerprint: taskq dead list'],
])('refuses %j', async (args, message) => {
  const { code, stderr } = await project.run(args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
