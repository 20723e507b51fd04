import { expect, test } from 'vitest';
import { enqueue } from '../queue/rows.ts';
import { registerWorker } from '../queue/worker.ts';
import { HOSTILE } from './hostile.ts';
import { expectFits, expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

const set = (queue: string, settings: object) =>
  site.database.admin.value("select taskq.set_queue($1, $2, '{}')", queue, JSON.stringify(settings));

const queueRow = (name: string) =>
  site.database.admin.row<Record<string, unknown>>(
    'select operator, paused_by, pause_reason, paused_until is not null as ends from taskq.queues where name = $1',
    name,
  );

test('queues are listed with their tasks, their pause and their limits', async () => {
  await enqueue(site.database.admin, { queue: 'mail' });
  await set('mail', { max_running: 10, rate: '100/1m', group_limit: 1 });
  await site.database.admin.value("select taskq.pause_queue('shop', 'ben', 'the bank is down')");
  await site.sample();
  const opened = await site.open('#/queues');
  const { page } = opened;
  const mail = page.getByRole('row', { name: 'mail' });
  await mail.getByText('10 at once; 100/1m; each group 1 at once').waitFor();
  await expect.poll(() => mail.getByRole('cell').first().innerText()).toBe('1');
  const shop = page.getByRole('row', { name: 'shop' });
  await shop.getByText('paused').waitFor();
  await shop.getByText('the bank is down').waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  await page.getByRole('link', { name: 'mail' }).click();
  await page.getByRole('heading', { level: 1, name: 'Queue mail' }).waitFor();
  expect(opened.faults()).toEqual([]);
});

test('without a queue the screen names the command that makes one', async () => {
  const opened = await site.open('#/queues');
  await opened.page.getByText('No queue has a task, a setting or a pause.').waitFor();
  await opened.page.getByText('taskq enqueue hello').waitFor();
  await expectUsable(opened);
});

test('without the database the screen keeps what it has, and says how old that is', async () => {
  await set('mail', { max_running: 10 });
  const opened = await site.open('#/queues/mail');
  const row = opened.page.getByRole('row', { name: 'Running at once 10' });
  await row.getByText('10').waitFor();
  site.answer(/queues\/mail$/, () => problem(503, 'unavailable', { detail: 'no database' }));
  await opened.page.getByRole('status').getByText('live').waitFor();
  await site.sample();
  await opened.page.getByRole('alert').getByText('no database').waitFor();
  await opened.page.getByText(/What follows is .* old/).waitFor();
  expect(await row.isVisible()).toBe(true);
  await expectUsable(opened);
});

test('a queue shows each setting with where it is from', async () => {
  await registerWorker(site.database.admin);
  await set('mail', { max_running: 10, timeout_ms: 90_000 });
  await site.database.admin.value(`select taskq.set_defaults('{"max_attempts": 7}')`);
  await site.database.admin.rows(
    `update taskq.queues set registered = '{"retention": "30d"}', registered_by = 'web:1:a', retention = '30d'`,
  );
  const opened = await site.open('#/queues/mail');
  const cells = async (setting: string) =>
    (await opened.page.getByRole('row', { name: setting }).getByRole('cell').allInnerTexts()).slice(0, 2);
  await opened.page.getByRole('row', { name: 'Attempts' }).getByText('7').waitFor();
  expect(await cells('Running at once 10')).toEqual(['10', 'set by an operator']);
  expect(await cells('Timeout')).toEqual(['1m30s', 'set by an operator']);
  expect(await cells('Finished tasks are kept')).toEqual(['30d', 'worker web:1:a']);
  expect(await cells('Attempts')).toEqual(['7', 'default, set by an operator']);
  expect(await cells('Order in a group')).toEqual(['strict', 'built in']);
  await expectUsable(opened);
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});

test('a setting is changed, refused with the reason at its field, and removed', async () => {
  await set('mail', { max_running: 10 });
  const { page } = await site.open('#/queues/mail');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Edit Back-off' }).click();
  await dialog.getByLabel('Back-off').fill('fixd,5s');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => dialog.getByLabel('Back-off').getAttribute('aria-invalid')).toBe('true');
  await dialog.getByLabel('Back-off').fill('fixed,5s');
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: 'Back-off' }).getByText('fixed,5s,max=1h,jitter=0.2').waitFor();
  await page.getByRole('button', { name: 'Edit Running at once', exact: true }).click();
  expect(await dialog.getByLabel('Running at once').inputValue()).toBe('10');
  await dialog.getByLabel('Running at once').fill('');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  expect(Object.keys((await queueRow('mail'))!.operator as object)).toEqual(['backoff']);
});

test('a queue is paused by keyboard with a reason and an end, and resumed', async () => {
  await enqueue(site.database.admin, { queue: 'mail' });
  const { page } = await site.open('#/queues/mail');
  await page.getByRole('button', { name: 'Pause…' }).waitFor();
  await page.keyboard.press('p');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('the bank is down');
  await dialog.getByLabel('For how long').fill('2h');
  await page.keyboard.press('Enter');
  await page.getByText('the bank is down').waitFor();
  expect(await queueRow('mail')).toMatchObject({ pause_reason: 'the bank is down', ends: true });
  await page.getByRole('button', { name: 'Resume…' }).click();
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause…' }).waitFor();
  expect(await queueRow('mail')).toMatchObject({ pause_reason: null });
});

test('a group shows who has its slots and who is next, is paused and gets a limit', async () => {
  const { admin } = site.database;
  await set('mail', { group_limit: 1 });
  const ids = [];
  for (let n = 0; n < 3; n += 1) ids.push(await enqueue(admin, { queue: 'mail', group: 'tenant-7' }));
  const worker = await registerWorker(admin);
  await worker.claim({ queues: ['mail'] });
  const opened = await site.open('#/queues/mail');
  const { page } = opened;
  await page.getByRole('link', { name: 'tenant-7' }).click();
  await page.getByRole('heading', { level: 1, name: 'Group tenant-7' }).waitFor();
  await page.getByText('1 of 1').waitFor();
  await page.getByRole('table', { name: 'Next tasks' }).getByRole('link', { name: ids[1]! }).waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  await expectFits(opened, 1280);
  await page.getByRole('button', { name: 'Edit Running at once' }).click();
  await page.getByRole('dialog').getByLabel('Running at once').fill('2');
  await page.keyboard.press('Enter');
  await page.getByText('set for the group').waitFor();
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('owes us');
  await page.keyboard.press('Enter');
  await page.getByText('owes us').waitFor();
  expect(opened.faults()).toEqual([]);
});

test('whoever may only read has nothing to press, and a caller for some queues sees theirs', async () => {
  await enqueue(site.database.admin, { queue: 'mail' });
  await enqueue(site.database.admin, { queue: 'shop' });
  const { page } = await site.open('#/queues', { role: 'viewer', queues: ['mail'] });
  await page.getByRole('row', { name: 'mail' }).waitFor();
  expect(await page.getByRole('row', { name: 'shop' }).count()).toBe(0);
  await page.getByRole('link', { name: 'mail' }).click();
  await page.getByRole('row', { name: 'Back-off' }).waitFor();
  expect(await page.getByRole('button', { name: /Edit|Pause/ }).count()).toBe(0);
});

test('queues with hostile names are text, and open', async () => {
  const names = HOSTILE.filter((name) => name.length <= 100 && !name.includes('\0'));
  site.answer(/queues$/, () =>
    Response.json({
      queues: names.map((name) => ({
        ...{ name, pausedAt: '2026-01-01T00:00:00Z', pausedUntil: null, pausedBy: name, pauseReason: name },
        ...{ maxRunning: null, rate: null, burst: null, groupLimit: null, groupRate: null, sources: {} },
      })),
    }),
  );
  const opened = await site.open('#/queues');
  await expect.poll(() => opened.page.getByRole('row').count()).toBe(names.length + 1);
  expect(await opened.page.evaluate('window.hit')).toBeUndefined();
  await expectFits(opened, 360);
  await opened.page.getByRole('link', { name: '..', exact: true }).click();
  await opened.page.getByRole('heading', { level: 1, name: 'Queue ..' }).waitFor();
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});
