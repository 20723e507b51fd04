import { expect, test } from 'vitest';
import { hashOf } from '../../src/server/token.ts';
import { useSite, violationsIn } from './use-site.ts';

const site = useSite({ authorize: () => null, basePath: '/a/b' });

const TOKEN = `taskq_${'x'.repeat(43)}`;

/** The form, of which the browser knows nothing but the answer 401. */
test('a browser signs in with a token and out, and is asked again when the token is revoked', async () => {
  const { admin } = site.database;
  await admin.value('select taskq.add_token($1, $2, $3)', 'ann', hashOf(TOKEN), { role: 'operator' });
  const { page } = await site.open('a/b');
  await page.getByRole('heading', { name: 'taskq' }).waitFor();
  expect(await violationsIn(page)).toEqual([]);
  await page.getByLabel('Token').fill('taskq_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('not valid').waitFor();
  await page.getByLabel('Token').fill(TOKEN);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('ann, operator').waitFor();
  expect(new URL(page.url()).pathname).toBe('/a/b/');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').fill(TOKEN);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.live-state').getByText('live', { exact: true }).waitFor();
  await admin.rows('delete from taskq.tokens');
  await page.getByText('signed out', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Sign in again' }).first().click();
  await page.getByLabel('Token').waitFor();
});
