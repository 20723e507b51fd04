import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { TaskQueue } from '../../src/index.ts';
import { HOSTILE } from '../ui/hostile.ts';
import { useServer } from './use-server.ts';

const { database, open, ask } = useServer();
const API = '/api/v1';

/** What quoting that is left out once would let through. */
const QUOTES = ["'", '"', '$$', "\\'", "''", "');", '`', '--', '/*', '$1', '%s', '{"a": ', '\\', ','];
const ENDS = ['drop table taskq.tasks; --', " or true or ''='", 'x::int'];
const TEXTS = [...QUOTES.flatMap((quote) => ENDS.map((end) => `a${quote}${end}`)), ...HOSTILE];

const SETTINGS = [
  'session_preload_libraries=auto_explain',
  ...['log_min_duration=0', 'log_nested_statements=on', 'log_format=json'].map(
    (one) => `auto_explain.${one}`,
  ),
  ...['log_statement=all', 'client_min_messages=log'],
];

/** A pool that notes every statement, those within functions included, without the literals in them. */
function notedPool(): { readonly pool: pg.Pool; readonly structures: Set<string> } {
  const structures = new Set<string>();
  const options = SETTINGS.map((setting) => `-c ${setting}`).join(' ');
  const pool = new pg.Pool({ connectionString: database.url, max: 2, options });
  // Its sessions may still be open when the next test begins, which ends them.
  pool.on('error', () => {});
  pool.on('connect', (client) =>
    client.on('notice', ({ message = '' }) => {
      const [, json] = /^duration: \S+ ms {2}plan:\n([\s\S]*)$/.exec(message) ?? [];
      const text =
        json === undefined ? message : (JSON.parse(json) as { 'Query Text': string })['Query Text'];
      structures.add(text.replaceAll(/\s*(?:E'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*')/gs, '?'));
    }),
  );
  // The database is dropped while they are open.
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  return { pool, structures };
}

/** Sends a text wherever a client may send one. Returns how many tasks it enqueued. */
async function sendEverywhere(text: string, queue: TaskQueue): Promise<number> {
  const sent = encodeURIComponent(text);
  const name = /^(\.{1,2}$|~)/.test(text) ? `~${sent}` : sent;
  const filters = ['queue', 'type', 'status', 'tag', 'key', 'group', 'payload.a.b', 'after', 'reason'];
  for (const [method, path, body] of [
    ...filters.map((filter) => ['GET', `tasks?${filter}=${sent}`] as const),
    ['GET', `tasks?payload.${name}=1`],
    ['GET', `queues/${name}`],
    ['PATCH', `queues/${name}`, { maxRunning: 1, reason: text }],
    ['PATCH', `queues/${name}`, { rate: text }],
    ['POST', `queues/${name}/pause`, { reason: text, for: '1h' }],
    ['PATCH', `queues/${name}/groups/${name}`, { limit: 2 }],
    ['PUT', `types/${name}`, { reason: text }],
    ['GET', `dead/groups/${name}`],
    ['GET', `audit?who=${sent}&verb=${sent}&via=${sent}`],
    ['GET', `audit?queue=${sent}&type=${sent}`],
    ['POST', 'operations', { verb: 'cancel', dryRun: true, filter: { queue: text, payload: { a: text } } }],
  ] as const) {
    const { status } = await ask(method, `${API}/${path}`, body === undefined ? {} : { body });
    expect([method, path, status < 500]).toEqual([method, path, true]);
  }
  const options = { queue: text, key: text, group: text, tags: { [text]: text } };
  try {
    await queue.enqueue(text, { [text]: text }, { ...options, allowUnknown: true });
    return 1;
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^[a-z_]+$/) });
    return 0;
  }
}

test('no text that a client sends changes a statement: a name, a filter, a position, a setting, a reason', async () => {
  const { pool, structures } = notedPool();
  open({ databaseUrl: undefined, pool } as never);
  const queue = new TaskQueue({ pool });
  let enqueued = 0;
  for (const harmless of ['plain', '1', 'pending', '5/1m']) enqueued += await sendEverywhere(harmless, queue);
  const known = new Set(structures);
  expect(known.size).toBeGreaterThan(50);
  for (const text of TEXTS) enqueued += await sendEverywhere(text, queue);
  expect([...structures].filter((structure) => !known.has(structure))).toEqual([]);
  expect(await database.admin.value('select count(*)::integer from taskq.tasks')).toBe(enqueued);
  expect(enqueued).toBeGreaterThan(60);
}, 240_000);

test('a filter ten thousand levels deep is refused, or finds nothing', async () => {
  open();
  const deep = `${'['.repeat(10_000)}1${']'.repeat(10_000)}`;
  for (const text of [
    `{"verb":"cancel","dryRun":true,"filter":{"payload":{"a":${deep}}}}`,
    `{"verb":"cancel","dryRun":true,"filter":${deep}}`,
    deep,
  ])
    expect((await ask('POST', `${API}/operations`, { text })).status).toBe(400);
  const path = Array.from({ length: 10_000 }, () => 'a').join('.');
  const found = await ask('GET', `${API}/tasks?payload.${path}=1`);
  expect(found.status === 400 || found.body.tasks.length === 0).toBe(true);
});
