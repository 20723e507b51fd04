import { expect, test } from 'vitest';
import { HOSTILE } from './hostile.ts';
import { expectUsable, problem, useSite } from './use-site.ts';

const site = useSite();

const set = (name: string, options: object = {}) =>
  site.database.admin.rows("select taskq.set_schedule($1, '30 2 * * *', 'work', $2, $3)", name, '{"n": 1}', {
    ...{ allow_unknown: true, tz: 'Asia/Kolkata', ...options },
  });

const buttons = /^(Run|Pause|Resume|Edit|Remove|Add)/;

test('an admin adds a schedule, and sees when it would fire before it is saved', async () => {
  const opened = await site.open('#/schedules');
  const { page } = opened;
  await page.getByText('There is no schedule.').waitFor();
  await expectUsable(opened);
  await page.getByRole('button', { name: 'Add schedule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('a/b nightly');
  await dialog.getByLabel('Expression').fill('30 2 * *');
  await dialog.getByRole('button', { name: 'Show next ticks' }).click();
  await dialog.getByRole('alert').filter({ hasText: '5 or 6 cron fields' }).waitFor();
  await dialog.getByLabel('Expression').fill('30 2 * * *');
  await dialog.getByLabel('Time zone').fill('Asia/Kolkata');
  await dialog.getByRole('button', { name: 'Show next ticks' }).click();
  await dialog
    .getByText(/02:30:00 \+05:30$/)
    .nth(2)
    .waitFor();
  await dialog.getByLabel('Type').fill('work');
  await dialog.getByLabel('Payload').fill('{"n": 12345678901234567890');
  await dialog.getByRole('button', { name: 'Add schedule' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'bad_json' }).waitFor();
  await expectUsable(opened);
  await dialog.getByLabel('Payload').fill('{"n": 12345678901234567890}');
  await dialog.getByLabel('Options').fill('{"queue": "mail", "allowUnknow": true}');
  await dialog.getByRole('button', { name: 'Add schedule' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'allowUnknow' }).waitFor();
  await dialog.getByLabel('Options').fill('{"queue": "mail"}');
  await site.database.admin.rows("select taskq.add_types('{work}')");
  await dialog.getByRole('button', { name: 'Add schedule' }).click();
  await page.getByRole('heading', { level: 1, name: 'Schedule a/b nightly' }).waitFor();
  await page.getByText('12345678901234567890').waitFor();
  await page.getByRole('table', { name: 'Ticks' }).waitFor();
  await expectUsable(opened);
});

test('an operator runs, pauses and resumes a schedule', async () => {
  await set('hourly');
  const { page, faults } = await site.open('#/schedules/hourly', { role: 'operator' });
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
  await page.getByText('ran schedule hourly').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByLabel('Reason').fill('moving the shop');
  await page.getByRole('button', { name: 'Pause schedule' }).click();
  await page.getByText('moving the shop').waitFor();
  await page.getByText('its ticks do not fire until').waitFor();
  expect(await page.getByRole('button', { name: /^(Edit|Remove)/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  expect(
    await site.database.admin.rows(
      "select verb, by, reason from taskq.audit where verb <> 'set schedule' order by id",
    ),
  ).toEqual([
    { verb: 'run schedule', by: 'ann', reason: null },
    { verb: 'pause schedule', by: 'ann', reason: 'moving the shop' },
    { verb: 'resume schedule', by: 'ann', reason: null },
  ]);
  expect(faults()).toEqual([]);
});

test('an admin edits a schedule, whose other options stay, and removes it', async () => {
  await set('report', { overlap: 'skip', timeout_ms: 90_000, tags: { some_tag: 'x' } });
  const { page } = await site.open('#/schedules/report');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Expression').fill('@hourly');
  await page.getByRole('button', { name: 'Save schedule' }).click();
  await page.getByText('@hourly', { exact: true }).waitFor();
  expect(
    await site.database.admin.row(
      `select expression, tz, payload::text, task_options, overlap from taskq.list_schedules()
       where name = 'report'`,
    ),
  ).toEqual({
    ...{ expression: '@hourly', tz: 'Asia/Kolkata', payload: '{"n": 1}', overlap: 'skip' },
    task_options: { timeout_ms: 90_000, tags: { some_tag: 'x' } },
  });
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove schedule' }).click();
  await page.waitForURL('**/#/schedules');
  await page.getByText('removed schedule report').waitFor();
  expect(await site.database.admin.row("select from taskq.list_schedules() where name = 'report'")).toBe(
    undefined,
  );
});

test('hostile names are text, a viewer has no button, and it all fits a narrow window', async () => {
  const names = HOSTILE.filter((text) => text.trim() === text && !/\p{Cc}/u.test(text));
  for (const name of names) await set(name);
  const opened = await site.open('#/schedules', { role: 'viewer', width: 360 });
  const { page } = opened;
  await page.getByRole('link', { name: names[1]!, exact: true }).waitFor();
  await expectUsable(opened);
  await page.getByRole('link', { name: names[1]!, exact: true }).click();
  await page.getByRole('table', { name: 'Ticks' }).waitFor();
  await expectUsable(opened);
  expect(await page.getByRole('button', { name: buttons }).count()).toBe(0);
  expect(await page.evaluate('window.hit')).toBe(undefined);
  expect(opened.faults()).toEqual([]);
});

test('a schedule that is not there, or that fires no more, says so', async () => {
  await set('over');
  site.answer(/\/over\/preview$/, () => Response.json({ expression: '', tz: 'UTC', ticks: [] }));
  const { page } = await site.open('#/schedules/over');
  await page.getByText('It never fires again.').waitFor();
  await page.goto(`${site.url}#/schedules/none`);
  await page.getByRole('alert').filter({ hasText: 'there is no such schedule' }).first().waitFor();
  site.answer(/\/schedules\/.*\/pause$/, () => problem(409, 'wrong_state', { detail: 'it is gone' }));
  await page.goto(`${site.url}#/schedules/over`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Pause schedule' }).click();
  await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'it is gone' }).waitFor();
});
