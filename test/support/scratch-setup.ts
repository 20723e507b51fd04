import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Creates a scratch directory for the tests of a project without a server. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const scratch = await mkdtemp(join(tmpdir(), 'taskq-scratch-'));
  project.provide('scratchDirectory', scratch);
  return () => rm(scratch, { recursive: true, force: true });
}
