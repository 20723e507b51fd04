import { expect, test } from 'vitest';
import { expectFits, expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

test('defaults are shown with where each is from, changed and removed', async () => {
  const opened = await site.open('#/settings');
  const { page } = opened;
  const attempts = page.getByRole('row', { name: 'Attempts' });
  await attempts.getByText('built in').waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'Edit Attempts' }).click();
  await page.getByRole('dialog').getByLabel('Attempts').fill('unlimited');
  await page.keyboard.press('Enter');
  await attempts.getByText('unlimited').waitFor();
  await attempts.getByText('set by an operator').waitFor();
  await page.getByRole('button', { name: 'Edit Attempts' }).click();
  await page.getByRole('dialog').getByLabel('Attempts').fill('');
  await page.keyboard.press('Enter');
  await attempts.getByText('built in').waitFor();
  expect(opened.faults()).toEqual([]);
});

test('whoever may only read has nothing to press', async () => {
  const { page } = await site.open('#/settings', { role: 'operator' });
  await page.getByRole('row', { name: 'Attempts' }).waitFor();
  expect(await page.getByRole('button', { name: /Edit/ }).count()).toBe(0);
});

test('the limits of queues and the breakers of types are on one screen', async () => {
  const { admin } = site.database;
  await admin.value(`select taskq.set_queue('mail', '{"max_running": 10, "rate": "100/1m"}', '{}')`);
  await admin.value(
    `select taskq.set_type('charge', '{"breaker": {"failures": 5, "within_ms": 60000, "probe_after_ms": 30000}}')`,
  );
  await site.sample();
  const opened = await site.open('#/limits');
  const { page } = opened;
  await page.getByRole('row', { name: 'mail' }).getByText('0 of 10').waitFor();
  await page.getByRole('row', { name: 'charge' }).getByText('5/1m').waitFor();
  await expectUsable(opened);
  await expectFits(opened, 360);
  expect(opened.faults()).toEqual([]);
});

test('without a limit the commands are named, and a caller for some queues sees no breakers', async () => {
  const opened = await site.open('#/limits', { queues: ['mail'] });
  await opened.page.getByText('No queue has a limit.').waitFor();
  expect(await opened.page.getByRole('heading', { name: 'Breakers' }).count()).toBe(0);
  expect(opened.faults()).toEqual([]);
});

test('without the database both screens say so', async () => {
  site.answer(/(defaults|queues|types)$/, () => problem(503, 'unavailable'));
  for (const hash of ['#/settings', '#/limits']) {
    const { page } = await site.open(hash);
    await page.getByRole('alert').first().waitFor();
  }
});
