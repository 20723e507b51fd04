import { expect, test } from 'vitest';
import { enqueue } from '../queue/rows.ts';
import { registerWorker } from '../queue/worker.ts';
import { HOSTILE } from './hostile.ts';
import { expectFits, expectUsable, useSite } from './use-site.ts';

const site = useSite();

const orders = (id: number) =>
  site.database.admin.row(
    'select paused_at is not null as paused, stop_requested_at is not null as stopped from taskq.workers where id = $1',
    id,
  );

test('workers are listed, and one shows what it holds', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin, { queue: 'mail' });
  const worker = await registerWorker(admin);
  await worker.claim({ queues: ['mail'] });
  const opened = await site.open('#/workers');
  const { page } = opened;
  const row = page.getByRole('row', { name: 'plain:1:a' });
  await row.getByText('live').waitFor();
  await row.getByText('of 8').waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  await page.getByRole('link', { name: 'plain:1:a' }).click();
  await page.getByRole('heading', { level: 1, name: 'Worker plain:1:a' }).waitFor();
  await page.getByRole('table', { name: 'Tasks in its slots' }).getByRole('link', { name: id }).waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});

test('without a worker the screen names the command, and shows those that have ended when asked', async () => {
  const { id } = await registerWorker(site.database.admin);
  await site.database.admin.value('select taskq.unregister_worker($1)', id);
  const opened = await site.open('#/workers');
  const { page } = opened;
  await page.getByText('taskq work', { exact: true }).waitFor();
  await expectUsable(opened);
  await page.getByRole('checkbox', { name: 'Also those that have ended' }).check();
  await page.getByRole('row', { name: 'plain:1:a' }).getByText('stopped').waitFor();
  await page.getByRole('link', { name: 'plain:1:a' }).click();
  await page.getByRole('heading', { level: 1, name: 'Worker plain:1:a' }).waitFor();
  expect(await page.getByRole('button', { name: /Pause|Stop|Change/ }).count()).toBe(0);
});

test('a worker is paused, resumed, changed and stopped', async () => {
  const { id } = await registerWorker(site.database.admin);
  const { page } = await site.open(`#/workers/${id}`);
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Pause…' }).click();
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume…' }).click();
  expect(await orders(id)).toMatchObject({ paused: true });
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause…' }).waitFor();
  await page.getByRole('button', { name: 'Change…' }).click();
  await dialog.getByLabel('Slots').fill('12');
  await dialog.getByLabel('Queues').fill('mail, shop');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(
    await site.database.admin.value('select to_jsonb(o) from taskq.get_orders($1) as o', id),
  ).toMatchObject({
    concurrency: 12,
    queues: ['mail', 'shop'],
  });
  await page.getByRole('button', { name: 'Stop…' }).click();
  expect(await orders(id)).toEqual({ paused: false, stopped: false });
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await orders(id)).toEqual({ paused: false, stopped: true });
});

test('whoever may only read has nothing to press', async () => {
  const { id } = await registerWorker(site.database.admin);
  const { page } = await site.open(`#/workers/${id}`, { role: 'viewer' });
  await page.getByText('Slots in use').waitFor();
  expect(await page.getByRole('button', { name: /Pause|Stop|Change/ }).count()).toBe(0);
});

test('what a hostile worker reports is text', async () => {
  site.answer(/workers$/, () =>
    Response.json({
      workers: HOSTILE.map((text, n) => ({
        ...{ id: `${n + 1}`, name: text, givenName: text, host: text, pid: 1, version: text, status: 'live' },
        ...{ startedAt: '2026-01-01T00:00:00Z', heartbeatAt: '2026-01-01T00:00:00Z', stoppedAt: null },
        ...{ pausedAt: null, concurrency: 1, running: 0, ahead: 0, pollMs: null, leaseMs: 30_000 },
        ...{ batch: 'auto', queues: [text], types: [text] },
      })),
      after: null,
    }),
  );
  const opened = await site.open('#/workers');
  await expect.poll(() => opened.page.getByRole('row').count()).toBe(HOSTILE.length + 1);
  expect(await opened.page.evaluate('window.hit')).toBeUndefined();
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});
