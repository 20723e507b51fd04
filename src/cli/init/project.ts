import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Language, TestRunner } from './files.ts';

/** The language of the project around a directory, and the runner of its tests. */
export interface Project {
  readonly language: Language;
  readonly runner: TestRunner;
}

/** Search from the directory up to the nearest package.json: for a tsconfig.json, and for vitest among its packages. */
export async function describeProject(directory: string): Promise<Project> {
  let language: Language = 'JavaScript';
  for (let at = directory; ; at = dirname(at)) {
    if (await isThere(join(at, 'tsconfig.json'))) language = 'TypeScript';
    const packageJson = await readFile(join(at, 'package.json'), 'utf8').catch(() => undefined);
    if (packageJson === undefined && at !== dirname(at)) continue;
    return { language, runner: /"vitest"\s*:/.test(packageJson ?? '') ? 'vitest' : 'node:test' };
  }
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
