import { expect, test } from 'vitest';
import { HOSTILE } from './hostile.ts';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

let made = 0;
const add = (name: string, options: object = {}) => {
  made += 1;
  return site.database.admin.rows(
    'select taskq.add_token($1, $2, $3)',
    name,
    String(made).padStart(64, '0'),
    options,
  );
};

test('without a token the screen has the command that makes one', async () => {
  const opened = await site.open('#/tokens', { width: 360 });
  await opened.page.getByText('There is no token.').waitFor();
  await opened.page.getByText('taskq tokens add shop').waitFor();
  await expectUsable(opened);
  expect(opened.faults()).toEqual([]);
});

test('an admin sees what each token may do, and revokes one after being asked', async () => {
  await add('shop', { role: 'producer', queues: ['mail-*', 'reports'], expires_ms: 90 * 86_400_000 });
  await add('old', { role: 'viewer', expires_ms: 1 });
  const opened = await site.open('#/tokens');
  const { page } = opened;
  await page.getByRole('row', { name: /shop producer mail-\*, reports in 89 d/ }).waitFor();
  await page.getByRole('row', { name: /old viewer all expired/ }).waitFor();
  await expectUsable(opened);
  await page.getByRole('button', { name: 'Revoke shop' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Revoke shop' }).click();
  await page.getByRole('button', { name: 'Revoke token' }).click();
  await page.getByRole('row', { name: /shop/ }).waitFor({ state: 'detached' });
  expect(await site.database.admin.rows('select name from taskq.tokens')).toEqual([{ name: 'old' }]);
});

test('hostile names are text, and can be revoked', async () => {
  const names = HOSTILE.filter((text) => text.trim() === text && !/\p{Cc}/u.test(text));
  for (const name of names) await add(name);
  const opened = await site.open('#/tokens');
  const { page } = opened;
  await page.getByRole('row').nth(names.length).waitFor();
  await expectUsable(opened);
  for (const name of ['..', '?a=b&c=d#e']) {
    await page.getByRole('button', { name: `Revoke ${name}`, exact: true }).click();
    await page.getByRole('button', { name: 'Revoke token' }).click();
    await page.getByRole('button', { name: `Revoke ${name}`, exact: true }).waitFor({ state: 'detached' });
  }
  expect(await page.evaluate('window.hit')).toBe(undefined);
  expect(opened.faults()).toEqual([]);
});

test('only an admin has the screen', async () => {
  const { page } = await site.open('#/tokens', { role: 'operator' });
  await page.getByRole('heading', { name: 'No such screen' }).waitFor();
});
