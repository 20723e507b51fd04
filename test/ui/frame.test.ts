import { expect, test } from 'vitest';
import { enqueue } from '../queue/rows.ts';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

test('keys open screens, the search and their own list, and Escape goes back', async () => {
  const opened = await site.open('#/overview');
  const { page } = opened;
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.getByText('search for an id or a key').waitFor();
  await expectUsable(opened);
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(opened.faults()).toEqual([]);
});

test('the focus returns from a dialog to the button that opened it', async () => {
  const { page } = await site.open('#/overview');
  await page.getByRole('button', { name: 'Keys' }).click();
  await page.keyboard.press('Escape');
  expect(await page.evaluate('document.activeElement.textContent')).toContain('Keys');
});

test('single keys can be turned off, and stay so', async () => {
  const { page } = await site.open('#/overview');
  await page.getByRole('button', { name: 'Keys' }).click();
  await page.getByLabel('Single keys are on').uncheck();
  await page.keyboard.press('Escape');
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.keyboard.press('?');
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(page.url()).toMatch(/overview$/);
});

test('a slash searches: an id or a key opens its task, another text the tasks of that key', async () => {
  const { admin } = site.database;
  const id = await enqueue(admin, { key: 'order-7' });
  const { page } = await site.open('#/overview');
  const search = async (text: string) => {
    await page.keyboard.press('/');
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
  };
  const task = page.getByRole('heading', { level: 1, name: `Task ${id}` });
  await search('order-7');
  await task.waitFor();
  await search('nobody');
  await page.getByText('No task matches').waitFor();
  expect(page.url()).toMatch(/#\/tasks\?key=nobody$/);
  await search(id);
  await task.waitFor();
});

test('a theme that is chosen is remembered', async () => {
  const { page } = await site.open('#/overview', { theme: 'light' });
  const background = () =>
    page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  const light = await background();
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  expect(await background()).toBe(dark);
  await page.getByLabel('Theme').selectOption('system');
  expect(await background()).toBe(light);
});

test('figures arrive while the tab is seen, and no connection is open while it is hidden', async () => {
  const { page } = await site.open('#/overview');
  const live = page.locator('.live-state');
  await live.getByText('live', { exact: true }).waitFor();
  const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/live'));
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  await hide(true);
  await closed;
  const again = page.waitForRequest((request) => request.url().endsWith('/live'));
  await hide(false);
  await again;
});

test('updates are held by r, and go on by r', async () => {
  const { page } = await site.open('#/workers');
  // What the screen has asked for before is not held.
  const queues = page.waitForResponse(/api\/v1\/queues$/);
  await page.evaluate("location.hash = '#/overview'");
  await queues;
  const state = page.locator('.live-state').getByRole('status');
  await page.getByText('No worker has counted').waitFor();
  await page.keyboard.press('r');
  await expect.poll(() => state.textContent()).toBe('held');
  await enqueue(site.database.admin, { queue: 'mail' });
  await site.sample();
  expect(await page.getByRole('link', { name: 'mail', exact: true }).count()).toBe(0);
  await page.keyboard.press('r');
  await page.getByRole('link', { name: 'mail', exact: true }).waitFor();
});

test('without a connection the pages keep what they have and say so, and go on by themselves', async () => {
  await enqueue(site.database.admin, { queue: 'mail' });
  await site.sample();
  const opened = await site.open('#/overview');
  const { page, context } = opened;
  const link = page.getByRole('link', { name: 'mail', exact: true });
  await link.waitFor();
  await context.setOffline(true);
  // An open connection is not cut by it, a new one is.
  await page.keyboard.press('r');
  await page.keyboard.press('r');
  await page.getByText('The server cannot be reached.').first().waitFor();
  await page
    .getByText(/What follows is .* old/)
    .first()
    .waitFor();
  expect(await link.count()).toBe(1);
  await expectUsable(opened);
  await context.setOffline(false);
  await page.getByText('The server cannot be reached.').first().waitFor({ state: 'hidden' });
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});

test('a viewer has no button that changes anything', async () => {
  await enqueue(site.database.admin, { queue: 'mail' });
  await site.sample();
  const { page } = await site.open('#/overview', { role: 'viewer' });
  await page.getByRole('link', { name: 'mail', exact: true }).waitFor();
  const buttons = await page.locator('main').getByRole('button').allTextContents();
  expect(buttons.filter((text) => !/^(Queues as|Table|Copy)/.test(text))).toEqual([]);
});

test('at 360 pixels the menu opens and closes', async () => {
  const opened = await site.open('#/tasks', { isLate: true, width: 360, height: 700 });
  const { page } = opened;
  const entry = page.getByRole('link', { name: 'Overview' });
  expect(await entry.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  await expectUsable(opened);
  await entry.click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(await entry.isVisible()).toBe(false);
});

test('an address that names no screen says so', async () => {
  const opened = await site.open('#/nowhere');
  await opened.page.getByText('The address names no screen').waitFor();
  await expectUsable(opened);
});
