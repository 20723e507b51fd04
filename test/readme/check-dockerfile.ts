import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { checkTaskq } from './check-taskq.ts';
import type { Block } from './documents.ts';
import type { Sandbox } from './sandbox.ts';

/** Checks a Dockerfile: what it copies is there, its Node is one we run on, its command exists and gets signals. */
export function checkDockerfile({ directory }: Sandbox, { text, at }: Block): void {
  const instructions = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => /^([A-Z]+) (.+)$/.exec(line) ?? [line, '', ''])
    .map(([line, name, rest]) => ({ line, name, rest: rest! }));
  const all = (name: string) => instructions.filter((instruction) => instruction.name === name);

  const known = ['FROM', 'WORKDIR', 'ENV', 'COPY', 'RUN', 'USER', 'CMD'];
  expect(
    instructions.filter(({ name }) => !known.includes(name!)),
    at,
  ).toEqual([]);
  expect(instructions[0]!.name, at).toBe('FROM');
  expect(Number(/^node:(\d+)-slim$/.exec(instructions[0]!.rest)?.[1]), at).toBeGreaterThanOrEqual(20);
  for (const { rest, line } of all('COPY')) {
    const sources = rest.split(' ').slice(0, -1);
    // The project's; where the section has none of its own, the repository is such a project.
    const isThere = (name: string) =>
      name.includes('*')
        ? isAnyThere(directory, name)
        : [directory, REPOSITORY].some((root) => existsSync(join(root, name)));
    expect(
      sources.filter((name) => !isThere(name)),
      `${at}: ${line}`,
    ).toEqual([]);
  }
  expect(
    all('USER').map(({ rest }) => rest),
    at,
  ).toEqual(['node']);
  // As a list: a shell in between would keep the signal to itself.
  const command = JSON.parse(all('CMD')[0]!.rest) as string[];
  expect(command[0], at).toBe('node_modules/.bin/taskq');
  checkTaskq(command.slice(1), at);
}

/** Whether a file of the project fits a pattern such as `tsconfig*.json`. */
function isAnyThere(directory: string, pattern: string): boolean {
  const [start, end] = pattern.split('*') as [string, string];
  return readdirSync(directory).some((name) => name.startsWith(start) && name.endsWith(end));
}
