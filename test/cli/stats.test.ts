import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq stats', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  test('counts by queue and by type, and names the types that nobody handles', async () => {
    await project.enqueue({ queue: 'mail' });
    await project.enqueueDead({ queue: 'mail' });
    await project.enqueue({ delay_ms: 60_000 });
    const { code, stdout, stderr } = await project.run(['stats']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(lines[0]).toEqual([
      'QUEUE',
      'PENDING',
      'RUNNING',
      'DEAD',
      'DUE',
      'OLDEST',
      'RETRYING',
      'COMPLETED',
      'CANCELLED',
      'EXPIRED',
    ]);
    expect(lines[1]!.slice(0, 5)).toEqual(['default', '1', '0', '0', '0']);
    expect(lines[2]!.slice(0, 5)).toEqual(['mail', '1', '0', '1', '1']);
    expect(lines[4]).toEqual([
      ...['TYPE', 'LIVE', 'DUE', 'DEAD', 'COMPLETED', 'CANCELLED', 'EXPIRED', 'AVERAGE', 'HANDLED'],
    ]);
    expect(lines[5]).toEqual(['double', '2', '1', '1', '0', '0', '0', '-', 'no']);
    expect(stdout).toMatch(
      /^1 task due, 0 of them can run, the oldest for .*; 0 completed in 1d \(0 a minute\); 0 workers$/m,
    );
    expect(stdout).toMatch(/^no worker handles: double$/m);
  });
});
