import pg from 'pg';
import type { Payload } from '../lib/payload.ts';
import type { Peer } from './peer.ts';
import { TYPE, taskq } from './taskq.ts';

/** A bare insert with a NOTIFY, and a session that claims on every notification: the lower limit for any queue. */
export const raw: Peer = {
  ...taskq,
  addStatement: `with added as (
    insert into taskq.tasks (type, payload, available_at, not_before, created_at)
    select '${TYPE}', $1::jsonb, ts, ts, ts from clock_timestamp() as ts returning id
  ) select pg_notify('taskq_bench', '') from added`,
  async prepare({ address }, run) {
    const client = new pg.Client({ connectionString: address });
    return async () => {
      await client.connect();
      let last: Promise<unknown> = Promise.resolve();
      client.on('notification', () => {
        last = last.then(() => takeOne(client, run));
      });
      await client.query('listen taskq_bench');
      return {
        async stop() {
          await last;
          await client.end();
        },
      };
    };
  },
};

async function takeOne(
  client: pg.Client,
  run: (payload: Payload, attempt: number) => unknown,
): Promise<void> {
  const { rows } = await client.query<{ id: string; payload: Payload }>({
    name: 'claim',
    text: `select id, payload from taskq.claim(0, '{default}', '{${TYPE}}', 8, 0, 30000, null, null)`,
  });
  for (const { payload } of rows) run(payload, 1);
  await client.query({
    name: 'delete',
    text: 'delete from taskq.tasks where id = any ($1)',
    values: [rows.map(({ id }) => id)],
  });
}
