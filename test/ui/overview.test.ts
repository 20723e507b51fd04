import { expect, test } from 'vitest';
import { enqueue } from '../queue/rows.ts';
import { registerWorker } from '../queue/worker.ts';
import { HOSTILE } from './hostile.ts';
import { expectInert, expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

/** Two tasks in mail, of which one runs, and one of a type that nobody handles. */
async function fill(): Promise<void> {
  const { admin } = site.database;
  await enqueue(admin, { queue: 'mail' });
  await enqueue(admin, { queue: 'mail' });
  const worker = await registerWorker(admin);
  await worker.claim({ queues: ['mail'] });
  await admin.value(
    `select id from taskq.enqueue('render', '{}', '{"queue": "reports", "allow_unknown": true}')`,
  );
  await site.sample();
}

test('each queue has its tasks by status, each number leads to them, and rows and columns change places', async () => {
  await fill();
  const opened = await site.open('#/overview');
  const { page } = opened;
  const running = page.getByRole('link', { name: '1 running of mail' });
  await running.waitFor();
  await page.getByText('Types that no worker handles').waitFor();
  await page.getByRole('img', { name: /Tasks per minute/ }).waitFor();
  await expectUsable(opened);
  await page.getByRole('button', { name: 'Queues as columns' }).click();
  await page.getByRole('columnheader', { name: 'reports' }).waitFor();
  await expectUsable(opened);
  await running.click();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  expect(page.url()).toMatch(/#\/tasks\?queue=mail&status=running$/);
  await expect.poll(() => page.getByRole('rowheader').count()).toBe(1);
  expect(opened.faults()).toEqual([]);
});

test('the figures of a chart are a table, too', async () => {
  await fill();
  const opened = await site.open('#/overview');
  const { page } = opened;
  await page.getByRole('button', { name: 'Table of Tasks per minute' }).click();
  await page.getByRole('columnheader', { name: 'completed' }).waitFor();
  await expectUsable(opened);
});

test('a queue is paused, with a reason, and resumed', async () => {
  await fill();
  const { page } = await site.open('#/overview');
  await page.getByRole('button', { name: 'Pause mail' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pause queue mail' });
  await dialog.getByLabel('For how long').fill('tomorrow');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('For how long').fill('');
  await dialog.getByLabel('Reason').fill('the provider is down');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  const paused = page.locator('tr', { hasText: 'mail' }).getByText('paused');
  await paused.waitFor();
  expect(
    await site.database.admin.row(
      'select pause_reason, paused_by from taskq.list_queues() where name = $1',
      'mail',
    ),
  ).toEqual({ pause_reason: 'the provider is down', paused_by: expect.stringContaining('ann') });
  await page.getByRole('button', { name: 'Resume mail' }).click();
  await paused.waitFor({ state: 'hidden' });
  await page.getByRole('status').getByText('Resumed queue mail').waitFor();
});

test('without a task it says how to enqueue one', async () => {
  await site.sample();
  const opened = await site.open('#/overview');
  await opened.page.getByText('No queue has a task.').waitFor();
  await opened.page.getByText('taskq enqueue greet').waitFor();
  await expectUsable(opened);
  expect(opened.faults()).toEqual([]);
});

test('an error says what is wrong and what to do', async () => {
  site.answer(/\/(series|queues)$/, () =>
    problem(503, 'too_slow', { detail: 'the database took more than 5 s' }),
  );
  await fill();
  const opened = await site.open('#/overview');
  await opened.page.getByText('the database took more than 5 s').waitFor();
  await expectUsable(opened);
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('names of queues and types are only ever text', async () => {
  const { admin } = site.database;
  for (const text of HOSTILE)
    await admin.value('select id from taskq.enqueue($1, $2, $3)', text.slice(0, 100), '{}', {
      queue: text.slice(0, 100),
      allow_unknown: true,
    });
  await site.sample();
  const opened = await site.open('#/overview', { width: 360 });
  await opened.page.getByRole('row').nth(20).waitFor();
  await expectInert(opened);
  await opened.page.getByRole('button', { name: 'Queues as columns' }).click();
  await expectInert(opened);
});
