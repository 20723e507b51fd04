import { afterAll, beforeAll, expect, test } from 'vitest';
import { knowTypes } from '../support/know-types.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
  await knowTypes(project.client, 'double');
  await project.enqueue({ queue: 'letters' });
});
afterAll(() => project.drop());

const LISTS = ['list', 'dead list'];
const VERBS = ['cancel', 'retry', 'edit --to-priority 1', 'rerun', 'purge', 'dead revive', 'dead discard'];

test.each([...LISTS, ...VERBS])(
  'taskq %s says that no task matches, and what may be misspelt',
  async (command) => {
    const answer = 'no task matches\n';
    const { code, stdout, stderr } = await project.run([
      ...command.split(' '),
      '--type',
      'doubel',
      '--queue',
      'leters',
    ]);
    const lines = [
      'type "doubel" is not known: did you mean "double"?',
      'queue "leters" is not known: did you mean "letters"?',
    ];
    const printed = lines.map((line) => `${line}\n`).join('');
    expect({ code, stdout, stderr }).toEqual(
      LISTS.includes(command)
        ? { code: 0, stdout: '', stderr: `${answer}${printed}` }
        : { code: 0, stdout: answer, stderr: printed },
    );
  },
);

test.each(VERBS)('taskq %s --json has its counts alone', async (command) => {
  const { stdout, stderr } = await project.run([...command.split(' '), '--type', 'doubel', '--json']);
  expect(
    Object.values(JSON.parse(stdout))
      .flat()
      .every((count) => count === 0),
  ).toBe(true);
  expect(stderr).toBe('');
});

test.each(['dead revive', 'dead discard', 'rerun'])(
  'taskq %s --reason says that it is a filter, where somebody may have meant to say why',
  async (command) => {
    const { stdout, stderr } = await project.run([...command.split(' '), '--reason', 'the fix is out']);
    expect(stdout).toBe('no task matches\n');
    expect(stderr).toBe(
      '--reason selects tasks by why they died or were cancelled; to record why you act, use --why\n',
    );
  },
);
