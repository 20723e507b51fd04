import { expect, test } from 'vitest';
import { enqueue } from '../../src/queue/protocol/enqueue.ts';
import { refusalOf } from '../../src/queue/protocol/refusal.ts';
import { useDatabase } from './session.ts';

const queue = useDatabase();

/** What an enqueue is refused with after this change to the database, which is undone. */
async function refusalAfter(change: string): Promise<unknown> {
  await queue.admin.rows('begin');
  await queue.admin.client.query(change);
  const refusal = await enqueue(queue.admin, { type: 'work', payload: '{}' }).then(
    () => undefined,
    (error: unknown) => refusalOf(error, ''),
  );
  await queue.admin.rows('rollback');
  return refusal;
}

test.each([
  ['the schema', 'alter schema taskq rename to elsewhere'],
  ['a function that we call', 'alter function taskq.enqueue rename to elsewhere'],
  ['a table that a function of ours needs', 'alter table taskq.tasks rename to elsewhere'],
])('without %s the schema is missing, and migrate makes it', async (_, change) => {
  expect(await refusalAfter(change)).toMatchObject({ code: 'schema_missing', hint: 'run taskq migrate' });
});

test.each([
  ['lacks a function', '42883', 'perform "of taskq"()'],
  ['lacks a table', '42P01', 'perform from "about taskq"'],
  ['raises that itself', '42P01', "raise undefined_table using message = 'no taskq here'"],
])('where a trigger of the application %s, its own error comes through', async (_, code, statement) => {
  const trigger = `
    create function note() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$;
    create trigger note before insert on taskq.tasks for each row execute function note()`;
  expect(await refusalAfter(trigger)).toMatchObject({ code, severity: 'ERROR' });
});
