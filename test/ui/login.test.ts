import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createProject, type Project } from '../cli/project.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { launchBrowser } from './use-site.ts';

let project: Project;
let browser: Browser;
beforeAll(async () => {
  [project, browser] = await Promise.all([createProject(), launchBrowser()]);
});
afterEach(killStartedTaskqs);
afterAll(async () => {
  await browser.close();
  await project.drop();
});

/** The link that `taskq serve --write` prints. */
async function loginLink(): Promise<string> {
  const taskq = startTaskq(['serve', '--write', '--port', '0', '--json'], {
    cwd: project.directory,
    env: { DATABASE_URL: project.url },
  });
  return (await taskq.waitForLog(({ url }) => url !== undefined)).login_url as string;
}

test('the browser that opens the link may write, and no other', async () => {
  const link = await loginLink();
  const page = await browser.newPage();
  await page.goto(link);
  // The key is not left in the address, from where it would get into the history.
  expect(new URL(page.url()).search).toBe('');
  await project.enqueue({ queue: 'mail' });
  const queue = `${new URL('.', link).href}#/queues/mail`;
  await page.goto(queue);
  await page.getByRole('heading', { level: 1, name: 'Queue mail' }).waitFor();
  await page.getByRole('button', { name: 'Pause…' }).waitFor();

  const late = await (await browser.newContext()).newPage();
  expect((await late.goto(link))!.status()).toBe(401);
  await late.goto(queue);
  await late.getByRole('heading', { level: 1, name: 'Queue mail' }).waitFor();
  expect(await late.getByRole('button', { name: 'Pause…' }).count()).toBe(0);
});

test('the link works from a page of another site, as from a chat in the browser', async () => {
  const link = await loginLink();
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end(`<a href="${link}">taskq</a>`);
  }).listen(0);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
  await page.getByRole('link', { name: 'taskq' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const own = await page.evaluate(async () => (await fetch('api/v1/caller')).json());
  expect(own).toMatchObject({ role: 'admin' });
  site.closeAllConnections();
  site.close();
});
