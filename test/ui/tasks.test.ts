import { expect, test } from 'vitest';
import { enqueue, enqueueSome, statusOf } from '../queue/rows.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { HOSTILE } from './hostile.ts';
import { expectInert, expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

/** Lets a task of queue `mail` die. */
async function die(): Promise<string> {
  const { admin } = site.database;
  const worker = await registerWorker(admin);
  await enqueue(admin, { queue: 'dying' });
  const claimed = await claimOne(worker, { queues: ['dying'] });
  await worker.settle(outcome(claimed, 'dead', { error: { name: 'Error', message: 'no such mailbox' } }));
  return claimed.id;
}

test('filters are kept in the URL, and Back returns to what was shown', async () => {
  const { admin } = site.database;
  await enqueue(admin, { queue: 'mail' });
  await enqueue(admin, { queue: 'post', tags: { order: '42' } });
  await die();
  const opened = await site.open('#/tasks');
  const { page } = opened;
  const rows = page.getByRole('rowheader');
  await rows.nth(2).waitFor();
  await expectUsable(opened);
  await page.getByLabel('Queue').fill('post');
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.count()).toBe(1);
  expect(page.url()).toMatch(/#\/tasks\?queue=post$/);
  await page.getByLabel('Tag').fill('order=41');
  await page.keyboard.press('Enter');
  await page.getByText('No task matches the filter.').waitFor();
  await expectUsable(opened);
  await page.goBack();
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByRole('link', { name: 'Clear' }).click();
  await page.getByLabel('Status').selectOption('dead');
  await page.getByText('Error: no such mailbox').waitFor();
  expect(await rows.count()).toBe(1);
  expect(opened.faults()).toEqual([]);
});

test('tasks are found by what is in their payloads, and what links choose can be seen and removed', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin, { queue: 'mail' }, { order: { id: 42 } });
  await enqueue(admin, { queue: 'mail' }, { order: { id: 43 } });
  const opened = await site.open(
    '#/tasks?queue=mail&status=pending&status=blocked&before=2099-01-01T00%3A00%3A00Z',
  );
  const { page } = opened;
  const rows = page.getByRole('rowheader');
  await rows.nth(1).waitFor();
  await expectUsable(opened);
  const chosen = page.getByRole('search').getByRole('listitem');
  expect(await chosen.allInnerTexts()).toEqual([
    expect.stringContaining('Status blocked'),
    expect.stringContaining('Before 2099-01-01T00:00:00Z'),
  ]);
  await chosen.nth(1).getByRole('button', { name: 'Remove' }).click();
  await page.waitForURL(/status=pending&status=blocked$/);
  await page.getByLabel('Payload').fill('order.id=42');
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.allInnerTexts()).toEqual([id]);
  await page.getByLabel('Payload').fill('order');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'payload.order.id=42' }).waitFor();
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('a search that ends before it has read all says how far it came, and goes on', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin, { queue: 'mail' });
  const [task] = (await (await fetch(`${site.url}api/v1/tasks`)).json()).tasks;
  site.answer(/\/tasks$/, ({ url }) => {
    const isMore = new URL(url).searchParams.has('after');
    return Response.json(
      isMore
        ? { tasks: [task], after: null, lookedBackTo: null }
        : { tasks: [], after: id, lookedBackTo: '2030-01-31T09:00:00Z' },
    );
  });
  const opened = await site.open('#/tasks?payload=order.id%3D42');
  const { page } = opened;
  await page.getByText('No match so far.').waitFor();
  await page.getByText('Searched back to').waitFor();
  await expectUsable(opened);
  await page.getByRole('button', { name: 'Search further' }).click();
  await page.getByRole('rowheader', { name: id }).waitFor();
  expect(opened.faults()).toEqual([]);
});

test('a list that is not filtered and empty says how to enqueue', async () => {
  const opened = await site.open('#/tasks');
  await opened.page.getByText('taskq enqueue greet').waitFor();
  await expectUsable(opened);
});

test('pages follow each other, and rows that are new wait until someone asks for them', async () => {
  const { admin } = site.database;
  await enqueueSome(admin, 60, { queue: 'mail' });
  await site.sample();
  const { page } = await site.open('#/tasks');
  const rows = page.getByRole('rowheader');
  await rows.nth(49).waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await expect.poll(() => rows.count()).toBe(60);
  const first = await rows.first().textContent();
  const id = await enqueue(admin, { queue: 'mail' });
  await site.sample();
  await page.getByRole('button', { name: '1 new row' }).waitFor();
  expect(await rows.first().textContent()).toBe(first);
  await page.keyboard.press('r');
  await page.getByRole('rowheader', { name: id, exact: true }).waitFor();
});

test('a row whose task has gone stays where it is, and says so', async () => {
  const { admin } = site.database;
  const [gone, kept] = await enqueueSome(admin, 2, { queue: 'mail' });
  await site.sample();
  const { page } = await site.open('#/tasks?status=pending');
  await page.getByRole('rowheader', { name: kept! }).waitFor();
  await admin.rows('select taskq.cancel(array[$1::bigint])', gone);
  await site.sample();
  await page.getByRole('rowheader', { name: `${gone} (no longer part of the list)` }).waitFor();
  expect(await page.getByRole('rowheader').count()).toBe(2);
});

test('by keyboard rows are reached, selected and opened', async () => {
  const [older, newer] = await enqueueSome(site.database.admin, 2);
  const { page } = await site.open('#/tasks');
  await page.getByRole('rowheader').nth(1).waitFor();
  for (const key of ['j', 'j', 'k', 'x']) await page.keyboard.press(key);
  expect(await page.getByLabel(`Select ${newer}`).isChecked()).toBe(true);
  await page.getByText('1 row selected').waitFor();
  for (const key of ['x', 'j', 'Enter']) await page.keyboard.press(key);
  await page.getByRole('heading', { level: 1, name: `Task ${older}` }).waitFor();
});

test('the selected tasks are cancelled after their number is shown', async () => {
  const { admin } = site.database;
  const [older, newer] = await enqueueSome(admin, 2);
  const opened = await site.open('#/tasks');
  const { page } = opened;
  await page.getByLabel(`Select ${newer}`).check();
  await expectUsable(opened);
  await page.getByRole('button', { name: 'Cancel' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel tasks' });
  await dialog.getByText(`This is about 1 task: ${newer}`).waitFor();
  await dialog.getByLabel('Reason').fill('a mistake');
  await expectUsable(opened);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('status').getByText('Cancel: 1 task').waitFor();
  await expect.poll(() => statusOf(admin, newer!)).toBe('cancelled');
  expect(await statusOf(admin, older!)).toBe('pending');
  await page.getByRole('button', { name: /^Done/ }).click();
  await page.getByRole('dialog', { name: 'What you did' }).getByText('Cancel: 1 task').waitFor();
  expect(opened.faults()).toEqual([]);
});

test('all that match are meant after a second step, and above a hundred their number is typed', async () => {
  const { admin } = site.database;
  await enqueueSome(admin, 101, { queue: 'mail' });
  const other = await enqueue(admin, { queue: 'post' });
  const { page } = await site.open('#/tasks?queue=mail');
  await page.getByLabel('Select all rows').check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel tasks' });
  const confirm = dialog.getByRole('button', { name: 'Cancel' });
  await dialog.getByText('101 tasks').waitFor();
  await confirm.click({ force: true });
  await dialog.getByLabel('Type 101 to confirm').fill('100');
  await confirm.click({ force: true });
  expect(await admin.value('select count(*)::int from taskq.operations')).toBe(0);
  await dialog.getByLabel('Type 101 to confirm').fill('101');
  await confirm.click();
  await dialog.waitFor({ state: 'hidden' });
  await expect
    .poll(() => admin.value(`select count(*)::int from taskq.all_tasks where status = 'cancelled'`))
    .toBe(101);
  expect(await statusOf(admin, other)).toBe('pending');
});

test('selected tasks are moved to another queue', async () => {
  const { admin } = site.database;
  const [, newer] = await enqueueSome(admin, 2, { queue: 'mail' });
  const { page } = await site.open('#/tasks?queue=mail');
  await page.getByLabel(`Select ${newer}`).check();
  await page.getByRole('button', { name: 'Move' }).click();
  const dialog = page.getByRole('dialog', { name: 'Move tasks' });
  await dialog.getByText(`1 task: ${newer}`).waitFor();
  await dialog.getByLabel('To queue').fill('post');
  await dialog.getByRole('button', { name: 'Move' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(() => admin.value('select queue from taskq.all_tasks where id = $1', newer)).toBe('post');
});

test('dead letters are revived and discarded, and nothing else is offered for them', async () => {
  const { admin } = site.database;
  const [first, second] = [await die(), await die()];
  const { page } = await site.open('#/tasks?status=dead');
  const bar = page.getByRole('region', { name: 'Selected rows' });
  const act = async (id: string, name: string) => {
    await page.getByLabel(`Select ${id}`).check();
    expect(await bar.getByRole('button').allTextContents()).toEqual(['Revive', 'Discard', 'Select none']);
    await bar.getByRole('button', { name }).click();
    const dialog = page.getByRole('dialog', { name: `${name} tasks` });
    await dialog.getByText('1 task').waitFor();
    await dialog.getByRole('button', { name }).click();
    await dialog.waitFor({ state: 'hidden' });
  };
  await act(first, 'Revive');
  await expect.poll(() => statusOf(admin, first)).toBe('pending');
  await act(second, 'Discard');
  await expect.poll(() => statusOf(admin, second)).toBeUndefined();
});

test('an error says what is wrong, and keeps the rows that were read', async () => {
  const { admin } = site.database;
  await enqueue(admin);
  await site.sample();
  const opened = await site.open('#/tasks');
  const { page } = opened;
  await page.getByRole('rowheader').waitFor();
  site.answer(/\/tasks$/, () => problem(503, 'unavailable', { detail: 'the database cannot be used now' }));
  await site.sample();
  await page.getByText('the database cannot be used now').waitFor();
  await page.getByText(/What follows is .* old/).waitFor();
  expect(await page.getByRole('rowheader').count()).toBe(1);
  await expectUsable(opened);
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('a filter that does not fit says where', async () => {
  const opened = await site.open('#/tasks?tag=order');
  await opened.page.getByRole('alert').getByText('expected name=value').waitFor();
  await expectUsable(opened);
});

test('a viewer selects nothing, and has no button', async () => {
  await enqueue(site.database.admin);
  const { page } = await site.open('#/tasks', { role: 'viewer' });
  await page.getByRole('rowheader').waitFor();
  expect(await page.getByRole('checkbox').count()).toBe(0);
  expect(await page.locator('main').getByRole('button').allTextContents()).toEqual(['Filter']);
  expect(await page.getByRole('link', { name: 'Enqueue' }).count()).toBe(0);
});

test('texts of tasks are only ever text, at any width', async () => {
  const { admin } = site.database;
  for (const text of HOSTILE)
    await enqueue(admin, { queue: text.slice(0, 60), tags: { a: text }, group: text.slice(0, 60) }, { text });
  for (const width of [1280, 360]) {
    const opened = await site.open('#/tasks', { width });
    await opened.page
      .getByRole('rowheader')
      .nth(HOSTILE.length - 1)
      .waitFor();
    await expectInert(opened);
  }
});
