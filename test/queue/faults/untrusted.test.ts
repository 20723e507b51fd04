import { afterEach, beforeEach, expect, test } from 'vitest';
import { applyGrants } from '../../../src/queue/schema/apply-grants.ts';
import { migrate } from '../../../src/queue/schema/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../../support/database.ts';
import { type Session, sessionOf } from '../session.ts';

let database: TestDatabase;
let admin: Session;
let other: string;

beforeEach(async () => {
  database = await emptyDatabase();
  admin = sessionOf(await database.client());
  other = `other_${database.name}`;
  await admin.rows(`create role ${other}`);
});

afterEach(async () => {
  await admin.client.query(`reset role; drop owned by ${other} cascade; drop role ${other}`);
  await database.drop();
});

const migrated = () => migrate({ databaseUrl: database.directUrl });
const granted = () =>
  applyGrants(database.directUrl, { roles: [], followUps: 'granted', functions: [] }, () => {});

/** An operator that a function of ours would find before that of all types, and what it calls. */
const operator = () => `
  set role ${other};
  create function taskq.cat(name, text) returns text language sql as 'select $2';
  create operator taskq.|| (leftarg = name, rightarg = text, function = taskq.cat);
  reset role`;

const OF_OTHERS = [
  'owns the operator taskq.||(name,text)',
  'owns the function taskq.cat(name,text)',
] as const;

test.each([
  ['made the schema', () => `create schema taskq authorization ${other}`, ['owns the schema taskq']],
  [
    'may create in it',
    () => `create schema taskq; grant usage, create on schema taskq to ${other}`,
    ['may create objects in the schema taskq'],
  ],
  [
    'like all may create in it',
    () => 'create schema taskq; grant create on schema taskq to public',
    ['may create objects in the schema taskq'],
  ],
  [
    'has made objects in it',
    () => `create schema taskq; grant usage, create on schema taskq to ${other}; ${operator()};
      revoke create on schema taskq from ${other}`,
    OF_OTHERS,
  ],
])('a schema is not migrated while another role %s, and the hint mends that', async (_, prepare, threats) => {
  await admin.client.query(prepare());
  const error = await migrated().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'schema_untrusted',
    message: expect.stringMatching(
      /^nothing was changed: .*, and could run code of its own as role postgres$/,
    ),
  });
  const { message, hint } = error as Error & { hint: string };
  const by = prepare().includes('public') ? 'public' : other;
  for (const threat of threats) expect(message).toContain(`role ${by} ${threat}`);
  expect(await admin.value("select to_regclass('taskq.release')")).toBe(null);
  await admin.client.query(hint.replace('; or migrate as another role', ''));
  await migrated();
  await admin.rows("select taskq.pause_queue('default')");
});

test('a role that may act as the one that migrates may own the schema', async () => {
  const owner = `owner_${database.name}`;
  await admin.client.query(`create role ${owner} login; grant create on database ${database.name} to ${owner};
    grant ${owner} to ${other}; create schema taskq authorization ${other};
    grant usage, create on schema taskq to ${owner}`);
  try {
    await migrate({ databaseUrl: database.directUrl.replace(/\/\/[^@/]*@/, `//${owner}@`) });
  } finally {
    await admin.client.query(`drop owned by ${owner} cascade; drop role ${owner}`);
  }
});

test('the schema is not handed over while another role may create in it, or has', async () => {
  await migrated();
  await admin.client.query(`grant usage, create on schema taskq to ${other}; ${operator()}`);
  const error = await granted().catch((thrown: unknown) => thrown);
  const owner = "select nspowner::regrole::text from pg_namespace where nspname = 'taskq'";
  expect(await admin.value(owner)).toBe('postgres');
  const threats = ['may create objects in the schema taskq', ...OF_OTHERS];
  expect(error).toMatchObject({
    code: 'may_not_grant',
    message: `${threats.map((threat) => `role ${other} ${threat}`).join(', ')}, and could run code of its own as role taskq_owner`,
  });
  await admin.client.query((error as { hint: string }).hint);
  await granted();
  expect(await admin.value(owner)).toBe('taskq_owner');
});
