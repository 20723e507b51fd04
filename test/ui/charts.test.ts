import { expect, test } from 'vitest';
import { expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

const point = (minute: number, happened: object = {}) => ({
  at: new Date(Date.UTC(2030, 0, 31, 9, minute)).toISOString(),
  ...{ created: 0, revived: 0, completed: 0, cancelled: 0, expired: 0, dead: 0 },
  attempts: { succeeded: 0, failed: 0, snoozed: 0, lost: 0 },
  ...{ waitMs: null, runMs: null, ...happened },
});

const SERIES = {
  ...{ from: '2030-01-31T09:00:00.000Z', until: '2030-01-31T09:03:00.000Z', stepMs: 60_000 },
  points: [
    point(0),
    point(1, { created: 1200, waitMs: { p50: 40, p95: 61_000 } }),
    point(2, { completed: 7, dead: 3, attempts: { succeeded: 7, failed: 4, snoozed: 0, lost: 1 } }),
  ],
};

const answerSeries = () => {
  const asked: string[] = [];
  site.answer(/\/series$/, ({ url }) => {
    asked.push(new URL(url).search);
    return Response.json(SERIES);
  });
  return asked;
};

test('the figures of a span and a queue are charts and tables', async () => {
  const asked = answerSeries();
  const opened = await site.open('#/charts?span=6h&queue=mail&type=a%2Fb');
  const { page } = opened;
  await page.locator('.chart .plot svg').nth(3).waitFor();
  expect(asked[0]).toBe('?span=6h&queue=mail&type=a%2Fb');
  await expectUsable(opened);
  for (const [title, rows] of [
    ['Throughput', ['0 0', '1,200 0', '0 7']],
    ['Failures', ['0 0', '0 0', '5 3']],
    ['Wait until an attempt starts', ['– –', '40 ms 1 min 1 s', '– –']],
  ] as const) {
    await page.getByRole('button', { name: `Table of ${title}` }).click();
    const cells = await page.getByRole('table', { name: title }).locator('tbody tr').allInnerTexts();
    expect(cells.map((text) => text.split('\t').slice(1).join(' '))).toEqual(rows);
  }
  await expectUsable(opened);
  await page.getByRole('link', { name: '7d' }).click();
  await page.waitForURL(/#\/charts\?(?=.*span=7d)(?=.*queue=mail)/);
  await page.locator('a[aria-current=true]', { hasText: '7d' }).waitFor();
  expect(opened.faults()).toEqual([]);
});

test('a range that is drawn over a chart, or typed, leads to the tasks that ended in it', async () => {
  answerSeries();
  const { page } = await site.open('#/charts?queue=mail', { isLate: true });
  const over = page.locator('.chart .plot svg').first();
  await over.scrollIntoViewIfNeeded();
  const box = (await over.boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/#\/tasks/);
  const drawn = new URLSearchParams(page.url().split('?')[1]);
  expect(drawn.getAll('status')).toEqual(['completed', 'cancelled', 'expired', 'dead']);
  expect(drawn.get('queue')).toBe('mail');
  expect(drawn.get('since')).toMatch(/^2030-01-31T09:00:/);
  expect(drawn.get('before')).toMatch(/^2030-01-31T09:01:/);

  await page.goBack();
  await page.getByLabel('Ended from').fill('2030-01-31T08:00');
  await page.getByLabel('Ended until').press('Enter');
  await page.waitForURL(/since=2030-01-31T08%3A00%3A00.000Z&before=2030-01-31T09%3A03%3A00.000Z/);
  // The list takes these parameters.
  await page.getByText('No task matches the filter.').waitFor();
});

test('without anything to show, and on a narrow window, it says so', async () => {
  const opened = await site.open('#/charts', { role: 'viewer', width: 360 });
  await opened.page.locator('.chart .plot svg').nth(3).waitFor();
  await expectUsable(opened);
  expect(opened.faults()).toEqual([]);
});

test('a wrong filter and a database that is away are problems', async () => {
  site.answer(/\/series$/, () => problem(400, 'bad_name', { detail: 'queue "": expected a name' }));
  const opened = await site.open('#/charts');
  await opened.page.getByRole('alert').filter({ hasText: 'bad_name' }).waitFor();
  await expectUsable(opened);
  site.loseDatabase();
  await opened.page.getByRole('link', { name: '30d' }).click();
  await opened.page.getByRole('alert').filter({ hasText: 'unavailable' }).waitFor();
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});
