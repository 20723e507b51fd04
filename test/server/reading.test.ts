import { expect, test } from 'vitest';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();
const API = '/api/v1';

/** Makes dead letters with errors: as many as there are hours, each of which died so long ago. */
async function died(message: string, queue: string, ...hoursAgo: readonly number[]): Promise<void> {
  for (const hours of hoursAgo) {
    const { id } = (await ask('POST', `${API}/tasks`, { body: { type: 'work', queue } })).body;
    await database.admin.value("select taskq.add_dead($1, 'attempts_spent')", id);
    await database.admin.rows(
      `update taskq.dead_tasks d
       set error = e.error, died_at = clock_timestamp() - make_interval(mins => $3),
         fingerprint = taskq.fingerprint(d.type, d.reason, e.error)
       from (select jsonb_build_object('name', 'Error', 'message', $2::text) as error) as e where d.id = $1`,
      id,
      message,
      Math.round(hours * 60),
    );
  }
}

test('groups of dead letters are listed and shown with their trend, page by page', async () => {
  open();
  await died('no card', 'mail', 0.5, 0.6, 1.5, 30);
  await died('no address', 'post', 0.1, 23.5);
  const { body } = await ask('GET', `${API}/dead/groups`);
  expect(body).toMatchObject({
    groups: [
      { count: 4, message: 'no card', errorName: 'Error', type: 'work', lastHour: 2, hourBefore: 1 },
      { count: 2, message: 'no address' },
    ],
    after: null,
  });
  const [card, address] = body.groups;
  const none = Array.from({ length: 22 }, () => 0);
  expect(card.trend).toEqual([...none, 1, 2]);
  expect(address.trend).toEqual([1, ...none, 1]);
  expect(Date.parse(card.lastAt) - Date.parse(card.firstAt)).toBeGreaterThan(29 * 3_600_000);
  expect((await ask('GET', `${API}/dead/groups/${card.fingerprint}`)).body).toEqual(card);
  const page = await ask('GET', `${API}/dead/groups?limit=1`);
  expect(page.body.groups).toEqual([card]);
  const next = await ask('GET', `${API}/dead/groups?limit=1&after=${page.body.after}`);
  expect(next.body.groups).toEqual([address]);
  expect((await ask('GET', `${API}/dead/groups?limit=1&after=${next.body.after}`)).body).toEqual({
    groups: [],
    after: null,
  });
});

test('groups are filtered by queue and type, and a token for some queues counts these alone', async () => {
  const server = open();
  await died('no card', 'mail', 0.5, 0.6);
  await died('no card', 'post', 0.1, 0.2, 0.3);
  const counts = async (query: string, bearer?: string) =>
    (
      await ask('GET', `${API}/dead/groups${query}`, { server, ...(bearer && { token: bearer }) })
    ).body.groups.map(({ count }: { count: number }) => count);
  expect(await counts('')).toEqual([5]);
  expect(await counts('?queue=mail&type=work')).toEqual([2]);
  expect(await counts('?type=other')).toEqual([]);
  const mail = await token({ role: 'viewer', queues: ['m*'] });
  expect(await counts('', mail)).toEqual([2]);
  expect(await counts('?queue=post', mail)).toEqual([]);
  const [{ fingerprint }] = (await ask('GET', `${API}/dead/groups`, { server })).body.groups;
  const shown = (bearer: string) =>
    ask('GET', `${API}/dead/groups/${fingerprint}`, { server, token: bearer });
  expect((await shown(mail)).body.trend.at(-1)).toBe(2);
  expect((await shown(await token({ role: 'viewer', queues: ['other'] }))).status).toBe(404);
});

test.each(['dead/groups/f3', 'dead/groups/0123456789', "dead/groups/'", 'dead/groups/%25'])(
  'of %s there is none',
  async (path) => {
    open();
    expect((await ask('GET', `${API}/${path}`)).status).toBe(404);
  },
);

test('what people did is listed, newest first, by who, what and when', async () => {
  open();
  await ask('POST', `${API}/queues/mail/pause`, { body: { reason: 'upgrade' } });
  await ask('POST', `${API}/queues/mail/resume`, { body: {} });
  const { id } = (await ask('POST', `${API}/tasks`, { body: { type: 'work', delay: '1h' } })).body;
  await ask('POST', `${API}/tasks/${id}/cancel`, { body: { reason: 'late' } });
  const verbs = async (query = '') => {
    const { actions } = (await ask('GET', `${API}/audit${query}`)).body;
    return actions.map(({ verb }: { verb: string }) => verb);
  };
  const { body } = await ask('GET', `${API}/audit?limit=1`);
  expect(body.actions).toMatchObject([{ verb: 'cancel', by: 'ann', taskIds: [id], reason: 'late' }]);
  expect(await verbs()).toEqual(['cancel', 'resume', 'pause']);
  expect(await verbs(`?after=${body.after}`)).toEqual(['resume', 'pause']);
  expect(await verbs('?verb=pause&who=ann&since=1h')).toEqual(['pause']);
  expect(await verbs(`?task=${id}`)).toEqual(['cancel']);
  expect(await verbs('?before=1h')).toEqual([]);
  expect(await verbs('?queue=mail')).toEqual(['resume', 'pause']);
  expect(await verbs('?type=work')).toEqual([]);
  expect(await verbs('?via=taskq%20serve')).toEqual(['cancel', 'resume', 'pause']);
});

test.each([
  'audit?after=x',
  'audit?task=0',
  'audit?since=when',
  'audit?queue=',
  'dead/groups?after=1-x',
  'dead/groups?queue=',
])('refuses %s', async (path) => {
  open();
  expect((await ask('GET', `${API}/${path}`)).status).toBe(400);
});
