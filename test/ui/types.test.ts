import { expect, test } from 'vitest';
import { registerWorker } from '../queue/worker.ts';
import { HOSTILE } from './hostile.ts';
import { expectFits, expectUsable, useSite } from './use-site.ts';

const site = useSite();

const add = (type: string) => site.database.admin.value('select taskq.add_types($1)', [type]);

const isKnown = (type: string) =>
  site.database.admin.value<boolean>('select exists (select from taskq.task_types where name = $1)', type);

/** Opens the breaker of a type, as if its tasks had failed. */
async function openBreaker(type: string): Promise<void> {
  await add(type);
  site.answer(/types\/[^/]+$/, () =>
    Response.json({
      ...{ name: type, breaker: { failures: 5, within_ms: 60_000, probe_after_ms: 'none' }, sources: {} },
      ...{ breakerOpenedAt: '2026-01-01T00:00:00Z', breakerProbeAt: null, breakerProbeId: null },
      ...{ firstSeenAt: '2026-01-01T00:00:00Z', lastSeenAt: null, workers: [] },
    }),
  );
}

test('types are listed with their handlers; those without are marked', async () => {
  const { admin } = site.database;
  await registerWorker(admin);
  await add('report');
  await admin.rows(`select taskq.enqueue('odd', '{}', '{"allow_unknown": true}')`);
  await site.sample();
  const opened = await site.open('#/types');
  const { page } = opened;
  await page.getByRole('row', { name: 'work' }).getByText('1 worker').waitFor();
  await page.getByRole('row', { name: 'report' }).getByText('unhandled').waitFor();
  await page.getByRole('row', { name: 'odd' }).getByText('unknown').waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});

test('a type is made known, gets a setting, and is forgotten', async () => {
  const opened = await site.open('#/types');
  const { page } = opened;
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Make known…' }).click();
  await dialog.getByLabel('Type').fill('report');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'report' }).click();
  await page.getByRole('button', { name: 'Edit Breaker' }).click();
  await dialog.getByLabel('Breaker').fill('5/1m');
  await page.keyboard.press('Enter');
  const breaker = page.getByRole('row', { name: 'Breaker' });
  await breaker.getByText('5/1m').waitFor();
  await breaker.getByText('set by an operator').waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  await page.getByRole('button', { name: 'Forget…' }).click();
  expect(await isKnown('report')).toBe(true);
  await dialog.getByRole('button', { name: 'Forget' }).click();
  await page.getByRole('button', { name: 'Make known…' }).waitFor();
  expect(await isKnown('report')).toBe(false);
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('a type that a worker handles shows the worker, and cannot be forgotten', async () => {
  await registerWorker(site.database.admin);
  const { page } = await site.open('#/types/work');
  await page.getByRole('link', { name: 'plain:1:a' }).waitFor();
  expect(await page.getByRole('button', { name: 'Forget…' }).count()).toBe(0);
});

test('an open breaker is shown, and closed', async () => {
  await openBreaker('charge');
  let resumed = 0;
  site.answer(/types\/charge\/resume$/, () => {
    resumed += 1;
    return Response.json({ resumed: true });
  });
  const opened = await site.open('#/types/charge');
  const { page } = opened;
  await page.getByText('until someone resumes it').waitFor();
  await expectUsable(opened);
  await page.keyboard.press('p');
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(resumed).toBe(1);
});

test('whoever may only read has nothing to press', async () => {
  await openBreaker('charge');
  const { page } = await site.open('#/types/charge', { role: 'viewer' });
  await page.getByText('until someone resumes it').waitFor();
  expect(await page.getByRole('button', { name: /Edit|Resume|Forget/ }).count()).toBe(0);
});

test('types with hostile names are text, and open', async () => {
  // The database refuses some.
  for (const name of HOSTILE) await add(name).catch(() => {});
  const known = await site.database.admin.value<string>('select count(*) from taskq.task_types');
  const opened = await site.open('#/types');
  await expect.poll(() => opened.page.getByRole('row').count()).toBe(Number(known) + 1);
  expect(await opened.page.evaluate('window.hit')).toBeUndefined();
  await expectFits(opened, 360);
  await opened.page.getByRole('link', { name: '%00%2e%2e%2f', exact: true }).click();
  await opened.page.getByRole('row', { name: 'Back-off' }).waitFor();
  expect(opened.faults()).toEqual([]);
});
