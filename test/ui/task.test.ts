import { expect, test } from 'vitest';
import { enqueue, lapse, rescueAll, silence, statusOf } from '../queue/rows.ts';
import { claimOne, LEASE_MS, outcome, registerWorker } from '../queue/worker.ts';
import { HOSTILE } from './hostile.ts';
import { expectInert, expectUsable, useSite } from './use-site.ts';

const site = useSite();

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('attempts are shown in their order, with worker, error and log', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin, { traceparent: `00-${TRACE}-b7ad6b7169203331-01` });
  const worker = await registerWorker(admin);
  const failed = await claimOne(worker);
  const lines = [{ ago_ms: 5, level: 'info', message: 'connecting', fields: { host: 'smtp' } }];
  const { id: task, lease_no } = failed;
  const progress = { value: 0.4, text: 'row 4 of 10' };
  await admin.rows(
    'select from taskq.note($1, $2)',
    worker.id,
    JSON.stringify([{ id: task, lease_no, progress, log: { first: 1, lines } }]),
  );
  const error = {
    name: 'SmtpError',
    message: 'mailbox full',
    code: 'E452',
    stack: 'SmtpError: mailbox full\n  at send',
  };
  await worker.settle(outcome(failed, 'failed', { error, delay_ms: 0, ran_ms: 1500 }));
  await claimOne(worker);
  await silence(admin, worker.id, 2 * LEASE_MS);
  await lapse(admin, [id]);
  await rescueAll(admin);
  const opened = await site.open(`#/task/${id}`);
  const { page } = opened;
  const moments = page.getByRole('list').filter({ hasText: 'Created' }).locator('> li');
  await moments.nth(2).waitFor();
  const told = await moments.allTextContents();
  expect(told[0]).toMatch(/Attempt 1 ?lost/);
  expect(told[1]).toMatch(/Attempt 1 ?failed.*after 1.5 s.*plain:1:a.*SmtpError: mailbox full.*E452/s);
  expect(told[1]).toMatch(/connecting.*smtp/s);
  await page.getByText('row 4 of 10').waitFor();
  expect(told[2]).toContain('Created');
  await page.getByText(TRACE).waitFor();
  await page.getByText('Stack').last().click();
  await page.getByText('at send').last().waitFor();
  await expectUsable(opened);
  expect(opened.faults()).toEqual([]);
});

test('it says why it waits, with a link to what holds it up', async () => {
  const { admin } = site.database;
  await admin.rows(`select taskq.set_queue('default', '{"group_limit": 1}')`);
  const [first, second] = [await enqueue(admin, { group: 'g' }), await enqueue(admin, { group: 'g' })];
  const worker = await registerWorker(admin);
  await claimOne(worker);
  // Which gives out the slots, and finds none.
  await worker.claim();
  const opened = await site.open(`#/task/${second}`);
  await opened.page.getByText('Others have the slots of its group').waitFor();
  await expectUsable(opened);
  await opened.page.getByRole('link', { name: first, exact: true }).click();
  await opened.page.getByText('Where it is').waitFor();
});

test('a completed one shows its result', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin);
  const worker = await registerWorker(admin);
  await worker.settle(outcome(await claimOne(worker), 'completed', { result: { sent: 12345678901234 } }));
  const { page } = await site.open(`#/task/${id}`);
  await page.getByText('12345678901234', { exact: true }).waitFor();
});

test('a step leads to its workflow, also where it says why it waits', async () => {
  const { admin } = site.database;
  const steps = [
    { step: 'fetch', type: 'work' },
    { step: 'load', type: 'work', after: ['fetch'] },
  ];
  const workflow = await admin.value<string>(
    `select id::text from taskq.run_workflow($1, '{"allow_unknown": ["work"]}')`,
    { name: 'import', steps },
  );
  const id = await admin.value<string>(`select id::text from taskq.tasks where step = 'load'`);
  const opened = await site.open(`#/task/${id}`);
  const { page } = opened;
  const links = page.getByRole('link', { name: workflow, exact: true });
  await links.nth(1).waitFor();
  await expectUsable(opened);
  for (const nth of [0, 1]) {
    await links.nth(nth).click();
    await page.getByRole('heading', { level: 1, name: /import/ }).waitFor();
    await page.goBack();
  }
});

test('every digit of a number is shown, edited and enqueued again', async () => {
  const { admin } = site.database;
  const exact = '{"big": 12345678901234567890, "small": 0.1234567890123456789012}';
  const id = await admin.value<string>(`select id::text from taskq.enqueue('work', $1::jsonb, '{}')`, exact);
  const { page } = await site.open(`#/task/${id}`);
  await page.getByText('12345678901234567890', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog', { name: `Edit task ${id}` });
  const payload = dialog.getByLabel('Payload');
  await payload.fill((await payload.inputValue()).replace('567890,', '567891,'));
  await dialog.getByLabel('Priority').fill('1');
  await dialog.getByLabel('Start').fill('30m');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'hidden' });
  const read = (of: string) =>
    admin.row(
      `select payload ->> 'big' as big, payload ->> 'small' as small, priority from taskq.all_tasks where id = $1`,
      of,
    );
  const changed = { big: '12345678901234567891', small: '0.1234567890123456789012', priority: 1 };
  expect(await read(id)).toEqual(changed);
  await page.getByText('12345678901234567891', { exact: true }).waitFor();
  await page.getByText('Its time has not come').waitFor();
  await page.getByRole('link', { name: 'Enqueue a copy' }).click();
  await page.getByRole('heading', { level: 1, name: 'Enqueue a copy' }).waitFor();
  await page.getByRole('button', { name: 'Enqueue' }).click();
  const heading = page.getByRole('heading', { level: 1, name: /^Task (?!copy)/ });
  await heading.waitFor();
  const copy = /task\/(\d+)$/.exec(page.url())![1]!;
  expect(copy).not.toBe(id);
  expect(await read(copy)).toEqual(changed);
});

test('what does not fit is said at its field, and nothing is changed', async () => {
  const id = await enqueue(site.database.admin);
  const opened = await site.open(`#/task/${id}`);
  const { page } = opened;
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Payload').fill('{"n": }');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').waitFor();
  await expectUsable(opened);
  await dialog.getByLabel('Payload').fill('{}');
  await dialog.getByLabel('Priority').fill('12');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog
    .getByText(/priority/i)
    .last()
    .waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('a waiting task is retried, cancelled with a reason, and run again', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin, { delay_ms: 3_600_000 });
  const { page } = await site.open(`#/task/${id}`);
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText(`Retried task ${id}`).waitFor();
  expect(
    await admin.value('select available_at <= clock_timestamp() from taskq.all_tasks where id = $1', id),
  ).toBe(true);
  await page.getByRole('button', { name: 'Cancel' }).click();
  const dialog = page.getByRole('dialog', { name: `Cancel task ${id}` });
  await dialog.getByLabel('Reason').fill('a mistake');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Rerun' }).waitFor();
  await page.getByText('a mistake').first().waitFor();
  await page.getByRole('button', { name: 'Rerun' }).click();
  await expect.poll(() => page.url()).not.toMatch(new RegExp(`/${id}$`));
  await page.getByRole('button', { name: 'Cancel' }).waitFor();
  expect(await statusOf(admin, id)).toBe('cancelled');
});

test('a dead letter is revived, and discarded for good', async () => {
  const { admin } = site.database;
  const worker = await registerWorker(admin);
  const die = async () => {
    const claimed = await claimOne(worker);
    await worker.settle(outcome(claimed, 'dead', { error: { name: 'Error', message: 'never' } }));
  };
  const id = await enqueue(admin);
  await die();
  const { page } = await site.open(`#/task/${id}`);
  await page.getByRole('button', { name: 'Revive' }).click();
  await page.getByRole('button', { name: 'Retry' }).waitFor();
  expect(await statusOf(admin, id)).toBe('pending');
  await die();
  await page.reload();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  expect(await statusOf(admin, id)).toBeUndefined();
});

test('a task that does not exist says so', async () => {
  const opened = await site.open('#/task/999999');
  await opened.page.getByText('there is no such task').waitFor();
  await expectUsable(opened);
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('a viewer has no button that changes anything', async () => {
  const id = await enqueue(site.database.admin, {}, { n: 1 });
  const { page } = await site.open(`#/task/${id}`, { role: 'viewer' });
  await page.getByText('Payload').waitFor();
  const buttons = await page.locator('main').getByRole('button').allTextContents();
  expect(buttons.filter((text) => text !== 'Copy')).toEqual([]);
  expect(await page.getByRole('link', { name: 'Enqueue' }).count()).toBe(0);
});

test('texts of a task and its attempts are only ever text', async () => {
  const { admin } = site.database;
  const members = Object.fromEntries(HOSTILE.map((text, place) => [`${place} ${text}`, text]));
  const id = await enqueue(
    admin,
    { group: HOSTILE[0], tags: { a: HOSTILE[1]!.slice(0, 100) } },
    { ...members, list: HOSTILE },
  );
  const worker = await registerWorker(admin);
  for (const text of HOSTILE.slice(0, 5)) {
    const error = { name: text, message: text, stack: text, code: text };
    await worker.settle(outcome(await claimOne(worker), 'snoozed', { error, delay_ms: 0, result: { text } }));
  }
  await admin.rows('select taskq.cancel(array[$1::bigint], $2)', id, HOSTILE.join(' ').slice(0, 500));
  for (const width of [1280, 360]) {
    const opened = await site.open(`#/task/${id}`, { width });
    await opened.page.getByText('Payload', { exact: true }).waitFor();
    await opened.page
      .getByText(/members\}/)
      .first()
      .click();
    await expectInert(opened);
  }
});
