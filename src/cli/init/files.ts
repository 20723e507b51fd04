/** The type that the sample handler handles. */
export const SAMPLE_TYPE = 'hello';

export type Language = 'TypeScript' | 'JavaScript';

/** The runner of a project's tests. */
export type TestRunner = 'node:test' | 'vitest';

/** The first files, in the language of the project. */
export function sampleFiles(
  language: Language,
  runner: TestRunner,
  handlers: string,
): { readonly config: string; readonly handler: string; readonly test: string } {
  return {
    config: language === 'TypeScript' ? CONFIG_TS : CONFIG_JS,
    handler: language === 'TypeScript' ? HANDLER_TS : HANDLER_JS,
    test: TEST.replace('node:test', runner).replace(
      "'handlers'",
      JSON.stringify(handlers).replaceAll('"', "'"),
    ),
  };
}

/** The handler that makes the attempts of a supervised process: the channel of its name. */
export function channelFile(language: Language, process: string): string {
  const payload = language === 'TypeScript' ? 'payload: { subject_id: number }' : 'payload';
  return CHANNEL.replaceAll('PROCESS', process).replace('PAYLOAD', payload);
}

/** The endings of the file names. */
export const ENDINGS = {
  TypeScript: { config: '.ts', handler: '.ts', test: '.test.ts' },
  JavaScript: { config: '.mjs', handler: '.mjs', test: '.test.mjs' },
} as const satisfies Record<Language, object>;

const ABOUT_CONFIG = '// Settings of taskq; `taskq config` prints them all, and where each comes from.';

const SETTINGS = `  // A task is tried 20 times before it is a dead letter. With the usual back-off (5 s, doubling up to 1 h) that is about
  // ten hours: most outages of what a handler needs are over by then. The database's own 3 attempts give up after
  // 15 seconds. A handler can change that for its type.
  maxAttempts: 20,
`;

const CONFIG_JS = `${ABOUT_CONFIG}
export default {
${SETTINGS}};
`;

const CONFIG_TS = `import { defineConfig } from 'taskq';

${ABOUT_CONFIG}
export default defineConfig({
${SETTINGS}});
`;

const ABOUT_HANDLER = `// Runs the tasks of type \`hello\`: the name of this file. What it returns is the task's result; when it throws, the
// attempt has failed and is made again later.`;

const HANDLER_JS = `${ABOUT_HANDLER}
export default async function hello(payload, ctx) {
  ctx.log.info('saying hello');
  return \`hello \${payload.name}\`;
}
`;

const HANDLER_TS = `import { defineHandler } from 'taskq';

${ABOUT_HANDLER}
export default defineHandler({
  async run(payload: { name: string }, ctx) {
    ctx.log.info('saying hello');
    return \`hello \${payload.name}\`;
  },
});
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskQueue } from 'taskq';
import { rolledBack, runTask } from 'taskq/testing';

const databaseUrl = process.env.DATABASE_URL;
if (!databaseUrl) throw new Error('set DATABASE_URL: of a local database, DATABASE_URL="$(npx taskq db url)"');

// Runs the handler as a worker does, with its retries but without their waits, in a transaction that is rolled back.
test('hello greets by name', () =>
  rolledBack(databaseUrl, async (client) => {
    const queue = new TaskQueue({ databaseUrl });
    const { id } = await queue.enqueue('hello', { name: 'Ann' }, { client, allowUnknown: true });
    const task = await runTask(id, { client, handlers: 'handlers' });
    assert.equal(task.result, 'hello Ann');
  }));
`;

const CHANNEL = `import { defineChannel } from 'taskq';

// Makes an attempt of PROCESS: calls the provider with what get_PROCESS_payload has prepared.
// What it returns goes to record_PROCESS_success; the message of an error to record_PROCESS_failure.
export default defineChannel({
  timeout: '1m',
  async call(PAYLOAD, ctx) {
    // FILL IN: call your provider, with ctx.signal, and with ctx.idempotencyKey if it knows such keys.
    ctx.log.info('no provider is called yet', payload);
    return { subject_id: payload.subject_id };
  },
});
`;
