import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { useSite } from './use-site.ts';

const site = useSite();

/** Lets a task of queue `shop` die of this error. Returns its id. */
async function die(message: string): Promise<string> {
  const { admin } = site.database;
  const id = await admin.value<string>(
    `select id::text from taskq.enqueue('charge', '{}', '{"queue": "shop", "allow_unknown": true}')`,
  );
  await admin.value("select taskq.add_dead($1, 'attempts_spent')", id);
  await admin.rows(
    `update taskq.dead_tasks d
     set by_hand = false, attempts = 3, error = e.error, fingerprint = taskq.fingerprint(d.type, d.reason, e.error)
     from (select jsonb_build_object('name', 'TypeError', 'message', $2::text) as error) as e
     where d.id = $1`,
    ...[id, message],
  );
  return id;
}

test('at night, by keyboard alone: find the bug, pause its queue, revive what it has killed, resume', async () => {
  const { admin } = site.database;
  const ids = [await die('no card'), await die('no card'), await die('no card')];
  await die('no address');
  await site.sample();
  const { page, faults } = await site.open('#/overview', { isLate: true });
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Goes on from field to field until this one. */
  const goTo = async (field: Locator) => {
    await field.waitFor();
    for (let n = 0; n < 20 && !(await field.evaluate((one) => one === document.activeElement)); n++)
      await press('Tab');
  };
  const fillIn = async (label: string, text: string) => {
    await goTo(page.getByRole('dialog').getByLabel(label));
    await page.keyboard.type(text);
  };
  const audited = () =>
    admin.rows<{ verb: string; reason: string | null }>(
      "select verb, reason from taskq.audit where by = 'ann' and verb <> 'revive' order by id",
    );

  // Which bug is it?
  await press('g', 'd');
  await page.getByRole('row', { name: /TypeError: no address/ }).waitFor();
  await press('j', 'j', 'k', 'Enter');
  await page.getByRole('heading', { name: 'TypeError: no card' }).waitFor();

  // Until it is mended, no more of its tasks shall die.
  await press('g', 'q');
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
  await press('j', 'Enter');
  await page.getByRole('button', { name: 'Pause…' }).waitFor();
  await press('p');
  await fillIn('Reason', 'cards are mended');
  await press('Enter');
  await page.getByText('cards are mended').waitFor();

  // It is mended: revive them all.
  await press('g', 'd');
  await page.getByRole('row', { name: /no card/ }).waitFor();
  await press('j', 'Enter');
  await page.getByRole('heading', { name: 'TypeError: no card' }).waitFor();
  await press('v');
  await page.getByRole('dialog').getByText('3 tasks').waitFor();
  await fillIn('Reason, for the record', 'cards work again');
  await press('Enter');
  await expect
    .poll(() => admin.rows("select id::text from taskq.tasks where queue = 'shop' order by id"))
    .toEqual(ids.map((id) => ({ id })));
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await press('g', 'q');
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
  await press('j', 'Enter');
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  await press('p');
  await goTo(page.getByRole('dialog').getByRole('button', { name: 'Resume' }));
  await press('Enter');
  await page.getByText('cards are mended').waitFor({ state: 'detached' });

  await press('/');
  await page.keyboard.type(ids[1]!);
  await press('Enter');
  await page.getByRole('heading', { name: new RegExp(ids[1]!) }).waitFor();
  expect(await audited()).toEqual([
    { verb: 'pause', reason: 'cards are mended' },
    { verb: 'start operation', reason: 'cards work again' },
    { verb: 'resume', reason: null },
  ]);
  // The group has gone with its last letter.
  expect(faults({ requestsFail: true })).toEqual([]);
});
