import { expect, test } from 'vitest';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

test('a screen is shown under the policy that forbids foreign scripts, and everyone can use it', async () => {
  const opened = await site.open('#/tasks');
  await opened.page.getByText('No task matches.').waitFor();
  await expectUsable(opened);
  expect(opened.faults({ requestsFail: true })).toEqual([]);
});
