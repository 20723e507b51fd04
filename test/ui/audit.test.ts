import { expect, test } from 'vitest';
import { HOSTILE } from './hostile.ts';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

/** What people have done, the earliest first, and nothing else. */
const record = async (...actions: readonly Readonly<Record<string, unknown>>[]) => {
  await site.database.admin.rows('truncate taskq.audit');
  await site.database.admin.rows(
    `insert into taskq.audit (at, verb, role, by, via, task_ids, queue, worker, type, filter, before, settings, reason)
     select clock_timestamp(), coalesce(verb, 'revive'), 'operator', by, via, task_ids, queue, worker, type, filter,
       before, settings, reason
     from jsonb_populate_recordset(null::taskq.audit, $1)`,
    JSON.stringify(actions),
  );
};

test('who did what, why and by which program, page by page', async () => {
  await record(
    ...Array.from({ length: 60 }, (_, at) => ({ verb: 'pause queue', queue: `q${at}` })),
    { verb: 'pause schedule', settings: { schedule: 'a/b' } },
    { verb: 'set queue', queue: 'mail', before: { rate: null }, settings: { rate: 5 } },
    {
      ...{ task_ids: [7, 8, 9, 10, 11], filter: { queue: 'mail' } },
      ...{ by: 'ann', via: 'taskq serve', reason: 'shop was down' },
    },
  );
  const opened = await site.open('#/audit');
  const { page } = opened;
  const row = page.getByRole('row', { name: /revive/ });
  await row.getByText('and 2 more tasks').waitFor();
  for (const text of ['shop was down', 'taskq serve', 'ann', 'operator']) await row.getByText(text).waitFor();
  expect(await row.getByRole('link', { name: '8' }).getAttribute('href')).toBe('#/task/8');
  expect(await page.getByRole('link', { name: 'a/b' }).getAttribute('href')).toBe('#/schedules/a%2Fb');
  await page.getByText('before, after').click();
  await page
    .getByRole('row', { name: /set queue/ })
    .getByText('rate')
    .nth(1)
    .waitFor();
  await expectUsable(opened);
  expect(await page.getByText('q0', { exact: true }).count()).toBe(0);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByText('q0', { exact: true }).waitFor();
});

test('filters are kept in the URL', async () => {
  await record({ verb: 'set schedule', by: 'ann@laptop', task_ids: [12] }, { by: 'bob' });
  const opened = await site.open('#/audit?who=ann', { width: 360 });
  const { page } = opened;
  await page.getByText('ann@laptop').waitFor();
  expect(await page.getByText('bob').count()).toBe(0);
  await expectUsable(opened);
  // On a narrow window, the fields are shown on request.
  await page.getByRole('button', { name: 'Filters (on)' }).click();
  await page.getByLabel('Verb').fill('set schedule');
  await page.getByLabel('Since').fill('2h');
  await page.getByLabel('Task', { exact: true }).fill('12');
  await page.getByLabel('Task', { exact: true }).press('Enter');
  await page.waitForURL(/who=ann&verb=set\+schedule&since=2h&task=12$/);
  await page.getByText('ann@laptop').waitFor();
  await page.getByLabel('Verb').fill('revive');
  await page.getByLabel('Verb').press('Enter');
  await page.getByText('No action matches.').waitFor();
  await expectUsable(opened);
  expect(opened.faults()).toEqual([]);
});

test('hostile texts are text', async () => {
  await record(
    ...HOSTILE.map((text) => ({
      by: text,
      reason: text,
      via: text,
      queue: text,
      settings: { [text]: text },
    })),
  );
  const opened = await site.open('#/audit');
  const { page } = opened;
  await page.getByRole('row').nth(HOSTILE.length).waitFor();
  for (const details of await page.getByText('after', { exact: true }).all()) await details.click();
  await expectUsable(opened);
  expect(await page.evaluate('window.hit')).toBe(undefined);
  expect(opened.faults()).toEqual([]);
});

test('a viewer has no such screen', async () => {
  const { page } = await site.open('#/audit', { role: 'viewer' });
  await page.getByRole('heading', { name: 'No such screen' }).waitFor();
  expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
});
