import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HandlerDefinition } from '../../src/index.ts';
import { TaskQueue } from '../../src/index.ts';
import { createProject, type Project } from './project.ts';

/** A task that no door takes, as an application passes it; its options have the same names in a file of envelopes. */
interface Refused {
  readonly type: string;
  readonly payload: unknown;
  readonly [option: string]: unknown;
}

const REFUSED: readonly (readonly [string, Refused])[] = [
  ['a payload that its schema refuses', { type: 'send-email', payload: { to: 7 } }],
  ['a NUL character', { type: 'double', payload: { n: 'a\0b' } }],
  ['half of a character', { type: 'double', payload: ['😀'.slice(0, 1)] }],
  ['more than a megabyte', { type: 'double', payload: 'x'.repeat(1_100_000) }],
  ['a type that is no path', { type: '../double', payload: {} }],
  ['a duration that is none', { type: 'double', payload: {}, delay: '1y' }],
  ['two times', { type: 'double', payload: {}, delay: '1m', at: '2030-01-31T09:00:00Z' }],
  ['a key of a control character', { type: 'double', payload: {}, key: 'a\nb' }],
  ['an option that nobody knows', { type: 'double', payload: {}, prio: 1 }],
];

describe('a refused task', () => {
  let project: Project;
  let queue: TaskQueue;

  beforeAll(async () => {
    project = await createProject();
    const file = pathToFileURL(`${project.directory}/handlers/send-email.mjs`).href;
    const { default: sendEmail } = (await import(file)) as { default: HandlerDefinition };
    queue = new TaskQueue({
      databaseUrl: project.url,
      handlers: { 'send-email': sendEmail, double: () => {} },
    });
  });
  afterAll(async () => {
    await queue.close();
    await project.drop();
  });

  const thrownBy = async (work: Promise<unknown>): Promise<string> => {
    const [settled] = await Promise.allSettled([work]);
    if (settled.status === 'fulfilled') throw new Error('it was not refused');
    return (settled.reason as Error).message;
  };

  test.each(REFUSED)('is refused in the same words by every door: %s', async (_, task) => {
    const { type, payload, ...options } = task;
    const one = await thrownBy(queue.enqueue(type, payload, options));
    const many = await thrownBy(queue.enqueueMany([task]));
    const { stderr } = await project.run(['enqueue', '--envelope', '--file', '-'], {
      input: JSON.stringify(task),
    });
    expect(one).not.toBe('');
    expect(many).toBe(`task 1 cannot be enqueued: ${one}; nothing is enqueued`);
    expect(stderr.split('\n')[0]).toBe(`taskq: stdin: line 1: ${one}`);
  });

  test.each(REFUSED.filter(([, task]) => Object.keys(task).length === 2))(
    'is refused so by taskq enqueue too: %s',
    async (_, { type, payload }) => {
      const text = JSON.stringify(payload);
      const { code, stderr } = await project.run(['enqueue', type, '-'], { input: text });
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `taskq: ${await thrownBy(queue.enqueue(type, payload))}\n`,
      });
    },
  );
});
