// The smallest producer: enqueues a task together with the order it belongs to, and waits for its result.
//
//   taskq migrate
//   node enqueue.mjs                 # in a second terminal: node application.mjs, which runs it
//
import pg from 'pg';
import { TaskQueue } from 'taskq';

const databaseUrl = process.env.DATABASE_URL;
const queue = new TaskQueue({ databaseUrl });
const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();

await client.query(
  'create table if not exists orders (id bigint generated always as identity, total numeric)',
);
await client.query('begin');
const { rows } = await client.query('insert into orders (total) values ($1) returning id', [42]);
// allowUnknown: the application that makes the type known may not have been started yet.
const { id } = await queue.enqueue('send-receipt', { order: rows[0].id }, { client, allowUnknown: true });
await client.query('commit'); // both are there now, or neither
console.log(`order ${rows[0].id}, task ${id}`);

const end = await queue.wait(id, { timeout: '1m' });
console.log(end.status, end.status === 'completed' ? end.result : end);

await client.end();
await queue.close();
