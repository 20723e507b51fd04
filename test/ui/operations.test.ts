import { expect, test } from 'vitest';
import { HOSTILE } from './hostile.ts';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

const operation = (more: object = {}) => ({
  ...{
    id: '12',
    verb: 'revive',
    filter: { queue: 'mail', status: ['dead'] },
    by: 'ann',
    reason: 'shop is up',
  },
  ...{ state: 'running', matched: 1500, atLeast: false, done: 300, skipped: 20, failed: 1, failures: [] },
  ...{ deadAgain: 3, createdAt: '2030-01-31T09:00:00Z', endedAt: null, stoppedBecause: null, trouble: null },
  ...{ rate: '50/1m', canary: 10, stopAt: '20%', ...more },
});

/** Cancels the tasks of a queue, one an hour. */
const started = async (queue: string) => {
  const tasks = Array.from({ length: 5 }, () => ({ type: 'work' }));
  await site.database.admin.rows('select taskq.enqueue_many($1, $2)', JSON.stringify(tasks), {
    ...{ queue, allow_unknown: true },
  });
  return site.database.admin.value<string>(
    "select id from taskq.start_operation('cancel', $1, $2)",
    { queue },
    {
      ...{ by: 'ann', reason: 'wrong shop', rate: '1/1h' },
    },
  );
};

test('operations are listed with their progress, and lead to what each is about', async () => {
  const opened = await site.open('#/operations');
  const { page } = opened;
  await page.getByText('No operation matches.').waitFor();
  const id = await started('mail');
  await site.database.admin.rows('select taskq.advance_operations()');
  await site.sample();
  await page.getByRole('row', { name: new RegExp(`cancel ${id} running .*1 of 5`) }).waitFor();
  await expectUsable(opened);
  await page.getByLabel('State').selectOption('failed');
  await page.getByText('No operation matches.').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: `cancel ${id}` }).click();
  await page.getByRole('heading', { level: 1, name: `Operation ${id}: cancel` }).waitFor();
  for (const text of ['ann', 'wrong shop', '1/1h', '"mail"'])
    await page.getByText(text, { exact: true }).first().waitFor();
});

test('an operator stops an operation for a reason', async () => {
  const id = await started('reports');
  const { page, faults } = await site.open(`#/operations/${id}`, { role: 'operator' });
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByLabel('Reason').fill('enough');
  await page.getByRole('button', { name: 'Stop operation' }).click();
  await page.getByText('stopped', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
  expect(
    await site.database.admin.row('select verb, by, reason from taskq.audit order by id desc limit 1'),
  ).toEqual({ verb: 'stop operation', by: 'ann', reason: 'enough' });
  expect(faults()).toEqual([]);
});

test('progress is read again and again until the operation has ended', async () => {
  let now = operation();
  site.answer(/\/operations\/12$/, () => Response.json(now));
  const { page } = await site.open('#/operations/12');
  await page.getByText('321 of 1,500').waitFor();
  now = operation({ done: 479 });
  await page.getByText('500 of 1,500').waitFor();
  now = operation({ done: 1479, state: 'completed', endedAt: '2030-01-31T09:05:00Z' });
  await page.getByText('completed', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
});

test('hostile texts are text, what failed leads to its task, and a viewer stops nothing', async () => {
  const failures = HOSTILE.map((error, at) => ({ id: String(at + 1), answer: 'error', error }));
  const [text] = HOSTILE;
  const hostile = operation({ failures, reason: text, by: text, trouble: text, filter: { tag: HOSTILE } });
  site.answer(/\/operations\/12$/, () => Response.json(hostile));
  const opened = await site.open('#/operations/12', { role: 'viewer', width: 360 });
  const { page } = opened;
  expect(await page.getByRole('link', { name: '2', exact: true }).getAttribute('href')).toBe('#/task/2');
  expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
  await expectUsable(opened);
  expect(await page.evaluate('window.hit')).toBe(undefined);
  expect(opened.faults()).toEqual([]);
});
