import { expect, test } from 'vitest';
import { HOSTILE } from './hostile.ts';
import { expectFits, expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

const GROUP = {
  ...{
    fingerprint: '0123456789',
    count: 250,
    firstAt: '2026-01-01T00:00:00Z',
    lastAt: '2026-01-02T00:00:00Z',
  },
  ...{ lastHour: 12, hourBefore: 3, trend: Array.from({ length: 24 }, (_, hour) => hour % 13) },
  ...{ type: 'charge', errorName: 'TypeError', message: 'no card 7', reason: 'attempts_spent', lastId: '1' },
};

const ERROR = {
  ...{ name: 'TypeError', message: 'no card 7' },
  stack: 'TypeError: no card 7\n    at charge (pay.js:9)',
};

const groups = (...found: readonly object[]) =>
  site.answer(/dead\/groups$/, () => Response.json({ groups: found, after: null }));

/** Makes dead letters of one group, of which each died a minute before the next. Returns their ids. */
async function letters(...payloads: readonly object[]): Promise<readonly string[]> {
  const { admin } = site.database;
  const ids: string[] = [];
  for (const [place, payload] of payloads.entries()) {
    const text = `select id::text from taskq.enqueue('charge', $1, '{"queue": "shop", "allow_unknown": true}')`;
    const id = await admin.value<string>(text, JSON.stringify(payload));
    await admin.value("select taskq.add_dead($1, 'attempts_spent')", id);
    await admin.rows(
      `update taskq.dead_tasks set fingerprint = '0123456789', by_hand = false, attempts = 3, error = $2,
         died_at = clock_timestamp() - make_interval(mins => $3)
       where id = $1`,
      ...[id, JSON.stringify(ERROR), payloads.length - place],
    );
    ids.push(id);
  }
  return ids;
}

/** Takes operations: a dry run matches so many tasks. Returns what was begun. */
function operations(matched: number, atLeast = false): Promise<Record<string, unknown>>[] {
  const begun: Promise<Record<string, unknown>>[] = [];
  site.answer(/operations$/, async (request) => {
    const body = await request.json();
    if (body.dryRun === true) return Response.json({ matched, atLeast, ids: ['1', '2'] });
    begun.push(body);
    return Response.json({ id: '7', verb: body.verb, state: 'running', matched, done: 0 }, { status: 202 });
  });
  return begun;
}

test('groups of dead letters are listed with their trend', async () => {
  await letters({ card: 1 }, { card: 2 });
  const opened = await site.open('#/dead');
  const row = opened.page.getByRole('row', { name: 'TypeError: no card 7' });
  await row.getByText('2, up from 0').waitFor();
  expect(await row.getByRole('img').getAttribute('aria-label')).toContain('2 in the last');
  await expectUsable(opened);
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
  await opened.page.getByRole('link', { name: 'TypeError: no card 7' }).click();
  await opened.page.getByRole('heading', { name: 'The last letter' }).waitFor();
});

test('groups are filtered by the URL', async () => {
  let asked = '';
  site.answer(/dead\/groups$/, ({ url }) => {
    asked = new URL(url).search;
    return Response.json({ groups: [], after: null });
  });
  const { page } = await site.open('#/dead?queue=shop');
  await page.getByText('No dead letter matches.').waitFor();
  await page.getByLabel('Type').fill('charge');
  await page.keyboard.press('Enter');
  await expect.poll(() => asked).toContain('queue=shop&type=charge');
});

test('without dead letters, and without the database, the screens say so', async () => {
  groups();
  const empty = await site.open('#/dead');
  await empty.page.getByText('No task has died of an error.').waitFor();
  await expectUsable(empty);
  site.answer(/dead\/groups/, () => problem(503, 'unavailable', { detail: 'the database does not answer' }));
  const failing = await site.open('#/dead/0123456789');
  await failing.page.getByRole('alert').first().waitFor();
  await expectUsable(failing);
  expect(failing.faults({ requestsFail: true })).toEqual([]);
});

test('a group shows its letters with what they died of, and an example', async () => {
  await letters({ card: 1 }, { card: 2 });
  const opened = await site.open('#/dead/0123456789');
  const { page } = opened;
  await page.getByRole('heading', { level: 1, name: 'TypeError: no card 7' }).waitFor();
  await page.getByText('at charge (pay.js:9)').waitFor();
  const row = page.getByRole('row', { name: '{"card":1}' });
  for (const cell of ['charge', 'TypeError: no card 7', '3', '2 min ago', '{"card":1}'])
    await row.getByRole('cell', { name: cell }).first().waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});

test('where the dry run could not look at all tasks, what it did not reach is acted on too', async () => {
  await letters({ card: 1 });
  const begun = operations(0, true);
  const { page } = await site.open('#/dead/0123456789');
  await page.getByRole('button', { name: 'Revive all…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Older ones may.').waitFor();
  expect(await dialog.getByRole('button', { name: 'Revive' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Type all to confirm').fill('all');
  await dialog.getByRole('button', { name: 'Revive' }).click();
  await expect.poll(() => begun.length).toBe(1);
  expect(begun[0]).not.toHaveProperty('expect');
});

test('a group is revived in stages, after a dry run and its typed count', async () => {
  await letters({ card: 1 });
  const begun = operations(250);
  const { page } = await site.open('#/dead/0123456789');
  await page.getByRole('button', { name: 'Revive all…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('250 tasks').waitFor();
  await dialog.getByLabel('Canary').fill('10');
  await dialog.getByLabel('Rate').fill('50/1m');
  await dialog.getByLabel('Stop at').fill('20%');
  await dialog.getByLabel('Change of each payload').fill('{"n": 12345678901234567890}');
  expect(await dialog.getByRole('button', { name: 'Revive' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Type 250 to confirm').fill('250');
  await dialog.getByRole('button', { name: 'Revive' }).click();
  await page.getByText('operation 7').waitFor();
  expect(begun).toMatchObject([
    {
      verb: 'revive',
      filter: { fingerprint: '0123456789' },
      expect: 250,
      canary: 10,
      rate: '50/1m',
      stopAt: '20%',
    },
  ]);
});

test('a group is discarded by keyboard', async () => {
  await letters({ card: 1 });
  const begun = operations(1);
  const { page } = await site.open('#/dead/0123456789?queue=shop');
  await page.getByRole('heading', { name: 'TypeError' }).waitFor();
  await page.keyboard.press('d');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 task').waitFor();
  await dialog.getByLabel('Reason').fill('not wanted');
  await page.keyboard.press('Enter');
  await page.getByText('operation 7').waitFor();
  expect(begun).toMatchObject([
    {
      verb: 'discard',
      filter: { fingerprint: '0123456789', queue: 'shop' },
      expect: 1,
      reason: 'not wanted',
    },
  ]);
});

test('a selected letter is revived with another payload', async () => {
  const [id] = await letters({ card: 1 });
  const { page } = await site.open('#/dead/0123456789');
  await page.getByRole('checkbox', { name: `Select ${id}` }).check();
  await page.getByRole('button', { name: 'Revive with another payload…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Payload').fill('{"card":');
  await dialog.getByRole('button', { name: 'Revive' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Payload').fill('{"card": 9007199254740993}');
  await dialog.getByRole('button', { name: 'Revive' }).click();
  await dialog.waitFor({ state: 'detached' });
  const stored = 'select payload::text from taskq.tasks where id = $1';
  expect(await site.database.admin.value(stored, id)).toBe('{"card": 9007199254740993}');
});

test('selected letters are discarded, and no other', async () => {
  const ids = await letters({ card: 1 }, { card: 2 }, { card: 3 });
  const { page } = await site.open('#/dead/0123456789');
  for (const id of ids.slice(0, 2)) await page.getByRole('checkbox', { name: `Select ${id}` }).check();
  await page.getByRole('button', { name: 'Discard…', exact: true }).click();
  await page.getByRole('dialog').getByText('2 tasks').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  const left = 'select array_agg(id::text) from taskq.dead_tasks';
  await expect.poll(() => site.database.admin.value(left), { timeout: 30_000 }).toEqual([ids[2]]);
});

test('all letters of a group are revived with a change of their payloads', async () => {
  await letters({ card: 1, tries: 9 }, { card: 2 });
  const { page } = await site.open('#/dead/0123456789');
  await page.getByRole('heading', { name: 'TypeError' }).waitFor();
  await page.keyboard.press('v');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 tasks').waitFor();
  await dialog.getByLabel('Change of each payload').fill('{"tries": null, "n": 9007199254740993}');
  await dialog.getByRole('button', { name: 'Revive' }).click();
  const payloads = 'select array_agg(payload::text order by id) from taskq.tasks';
  await expect
    .poll(() => site.database.admin.value(payloads), { timeout: 30_000 })
    .toEqual(['{"n": 9007199254740993, "card": 1}', '{"n": 9007199254740993, "card": 2}']);
});

test('whoever may only read has nothing to press', async () => {
  await letters({ card: 1 });
  const { page } = await site.open('#/dead/0123456789', { role: 'viewer' });
  await page.getByRole('row', { name: '{"card":1}' }).waitFor();
  expect(await page.getByRole('button', { name: /Revive|Discard/ }).count()).toBe(0);
  expect(await page.getByRole('checkbox').count()).toBe(0);
});

test('hostile texts are text', async () => {
  groups(
    ...HOSTILE.map((text, n) => ({
      ...{ ...GROUP, fingerprint: `a${n}` },
      ...{ type: text, errorName: text, message: text, reason: text },
    })),
  );
  const opened = await site.open('#/dead');
  await expect.poll(() => opened.page.getByRole('row').count()).toBe(HOSTILE.length + 1);
  expect(await opened.page.evaluate('window.hit')).toBeUndefined();
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});
