import { expect, test } from 'vitest';
import { runWorkflow } from '../queue/flow/started.ts';
import { insertWorkflow } from '../queue/flow/steps.ts';
import { HOSTILE } from './hostile.ts';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

const shop = () =>
  runWorkflow(
    site.database.admin,
    [
      { step: 'fetch' },
      { step: 'prices', after: ['fetch'] },
      { step: 'images', after: ['fetch'] },
      { step: 'report', after: ['prices', 'images'] },
    ],
    { name: 'import', open: true },
  );

test('workflows are listed by their state, and lead to what they consist of', async () => {
  const { id } = await shop();
  const opened = await site.open('#/workflows');
  const { page } = opened;
  await page.getByRole('row', { name: /import .* open 4/ }).waitFor();
  await expectUsable(opened);
  await page.getByLabel('State').selectOption('completed');
  await page.getByText('No workflow matches.').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'import' }).first().click();
  await page.waitForURL(`**/#/workflows/${id}`);
  await page.getByRole('heading', { level: 1, name: 'import' }).waitFor();
});

test('the graph of a workflow is walked by arrow keys, and each step leads to its task', async () => {
  const { id, steps } = await shop();
  const opened = await site.open(`#/workflows/${id}`);
  const { page } = opened;
  const graph = page.getByRole('region', { name: 'Graph of the steps' });
  await graph.getByRole('link', { name: 'fetch, pending' }).focus();
  const isAt = (name: string) => graph.locator('a:focus').filter({ hasText: name }).waitFor();
  for (const [key, name] of [
    ['ArrowRight', 'prices, blocked'],
    ['ArrowDown', 'images, blocked'],
    ['ArrowRight', 'report, blocked'],
    ['ArrowLeft', 'prices, blocked'],
  ] as const) {
    await page.keyboard.press(key);
    await isAt(name);
  }
  await page.getByRole('button', { name: 'Larger' }).click();
  await expectUsable(opened);
  await graph.getByRole('link', { name: 'prices, blocked' }).press('Enter');
  await page.waitForURL(`**/#/task/${steps.prices}`);
  expect(opened.faults()).toEqual([]);
});

test('an operator closes, cancels and retries a workflow; others have no button for it', async () => {
  const { id } = await shop();
  const { page } = await site.open(`#/workflows/${id}`, { role: 'operator' });
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Close workflow' }).click();
  await page.getByText('running', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByText('4 live steps').waitFor();
  await page.getByLabel('Reason').fill('wrong shop');
  await page.getByRole('button', { name: 'Cancel workflow' }).click();
  await page.getByText('wrong shop').first().waitFor();
  await page.getByRole('link', { name: '4 cancelled' }).waitFor();
  expect(await page.getByRole('button', { name: /^(Close|Cancel|Retry)/ }).count()).toBe(0);

  const dying = await insertWorkflow(site.database.admin, [
    { step: 'fetch', status: 'dead' },
    { step: 'parse' },
  ]);
  await page.goto(`${site.url}#/workflows/${dying.id}`);
  const viewer = await site.open(`#/workflows/${dying.id}`, { role: 'viewer', width: 360 });
  await viewer.page.getByRole('link', { name: '1 dead' }).waitFor();
  expect(await viewer.page.getByRole('button', { name: /^(Close|Cancel|Retry)/ }).count()).toBe(0);
  await expectUsable(viewer);
  await page.getByRole('button', { name: 'Retry dead steps' }).click();
  await page.getByRole('link', { name: '2 pending' }).waitFor();
  const verbs = await site.database.admin.rows('select verb, by, reason from taskq.audit order by id');
  expect(verbs).toEqual([
    { verb: 'close workflow', by: 'ann', reason: null },
    { verb: 'cancel workflow', by: 'ann', reason: 'wrong shop' },
    { verb: 'retry workflow', by: 'ann', reason: null },
  ]);
});

test('hostile names are shown as text; a workflow that is not there is a problem', async () => {
  const names = HOSTILE.filter((text) => text.trim() === text && !/\p{Cc}/u.test(text));
  const { id } = await runWorkflow(
    site.database.admin,
    names.map((step) => ({ step })),
    { name: names[0] },
  );
  const opened = await site.open(`#/workflows/${id}`);
  const { page } = opened;
  await page.getByRole('table', { name: 'Steps' }).waitFor();
  await expectUsable(opened);
  expect(await page.evaluate('window.hit')).toBe(undefined);
  expect(opened.faults()).toEqual([]);
  await page.goto(`${site.url}#/workflows/999999999`);
  await page.getByRole('alert').filter({ hasText: 'there is no such workflow' }).waitFor();
});

test('a workflow of more than 500 steps is counted by layers', async () => {
  const steps = Array.from({ length: 600 }, (_, at) => ({
    step: `s${at}`,
    after: at < 300 ? [] : [`s${at - 300}`],
  }));
  const { id } = await runWorkflow(site.database.admin, steps);
  const opened = await site.open(`#/workflows/${id}`, { width: 360 });
  const { page } = opened;
  await page.getByRole('row', { name: '1 300 300 pending' }).waitFor();
  await page.getByRole('row', { name: '2 300 300 blocked' }).waitFor();
  await page.getByRole('button', { name: '400 more steps' }).click();
  await page.getByRole('link', { name: 's399', exact: true }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
});
