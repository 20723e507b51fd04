import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { runWorkflow } from '../queue/flow/started.ts';
import { enqueue } from '../queue/rows.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { expectUsable, useSite } from './use-site.ts';

const site = useSite();

const READS = /\/api\/v1\/(?!live)/;

const sql = (text: string, ...values: readonly unknown[]) => site.database.admin.rows(text, ...values);

async function aTask(): Promise<string> {
  return `task/${await enqueue(site.database.admin, { queue: 'mail' })}`;
}

async function aWorker(): Promise<string> {
  const worker = await registerWorker(site.database.admin);
  await enqueue(site.database.admin);
  await worker.claim();
  return `workers/${worker.id}`;
}

/** Returns the fingerprint of its group. */
async function aDeadLetter(): Promise<string> {
  const worker = await registerWorker(site.database.admin);
  await enqueue(site.database.admin, { queue: 'mail' });
  const task = await claimOne(worker, { queues: ['mail'] });
  await worker.settle(outcome(task, 'dead', { error: { name: 'SmtpError', message: 'mailbox full' } }));
  return site.database.admin.value<string>('select fingerprint from taskq.dead_tasks');
}

const anOperation = async () => {
  await enqueue(site.database.admin, { queue: 'mail' });
  const text = "select id from taskq.start_operation('cancel', $1, $2)";
  return `operations/${await site.database.admin.value<string>(text, { queue: 'mail' }, { reason: 'wrong shop' })}`;
};

const aQueue = () => sql(`select taskq.set_queue('mail', '{"max_running": 10}')`);
const aType = () => sql("select taskq.add_types('{report}')");
const aSchedule = () =>
  sql(`select taskq.set_schedule('nightly', '@daily', 'report', '{"n": 77}', '{"allow_unknown": true}')`);

async function aWorkflow(): Promise<string> {
  await sql("select taskq.add_types('{work}')");
  return `workflows/${(await runWorkflow(site.database.admin, [{ step: 'fetch' }])).id}`;
}

type Of = (page: Page) => Locator;

/** Of each screen: what it is about is made, and what it shows of that. A string that is returned is its place. */
const SCREENS: readonly (readonly [
  place: string,
  make: () => Promise<unknown>,
  shown: string | RegExp | Of,
])[] = [
  ['overview', aTask, (page) => page.getByRole('img', { name: /Tasks per minute/ })],
  ['tasks', aTask, 'mail'],
  ['task/…', aTask, 'mail'],
  ['dead', aDeadLetter, 'SmtpError: mailbox full'],
  ['dead/…', async () => `dead/${await aDeadLetter()}`, /mailbox full/],
  ['queues', aQueue, 'mail'],
  ['queues/mail', aQueue, 'Running at once'],
  ['types', aType, 'report'],
  ['types/report', aType, 'Breaker'],
  ['limits', aQueue, 'mail'],
  ['workers', aWorker, 'plain:1:a'],
  ['workers/…', aWorker, (page) => page.getByRole('table', { name: 'Tasks in its slots' })],
  ['schedules', aSchedule, 'nightly'],
  ['schedules/nightly', aSchedule, '77'],
  ['workflows', aWorkflow, 'flow'],
  ['workflows/…', aWorkflow, (page) => page.getByRole('table', { name: 'Steps' })],
  ['charts', async () => {}, 'Nothing happened in this time.'],
  ['operations', anOperation, 'cancel'],
  ['operations/…', anOperation, 'wrong shop'],
  ['settings', aQueue, 'Attempts'],
  [
    'audit',
    async () => sql("select taskq.pause_queue('mail', 'ann', 'the bank is down')"),
    'the bank is down',
  ],
  ['tokens', () => sql("select taskq.add_token('shop', repeat('a', 64), '{\"role\": \"viewer\"}')"), 'shop'],
];

/** Opens a screen with something to show, and says how it looks while it cannot read, and when it can again. */
async function opened(place: string, make: () => Promise<unknown>, sought: string | RegExp | Of) {
  const made = await make();
  await site.sample();
  const it = await site.open(`#/${place.endsWith('…') ? made : place}`);
  const { page } = it;
  const alert = page.getByRole('alert').first();
  const shown = typeof sought === 'function' ? sought(page) : page.getByText(sought).first();
  await shown.waitFor();
  await page.getByRole('status').getByText('live').waitFor();
  return {
    ...it,
    expectOld: async (why: string) => {
      await site.sample();
      await alert.filter({ hasText: why }).waitFor();
      await page
        .getByText(/What follows is .* old/)
        .first()
        .waitFor();
      await page.locator('.stale').filter({ has: shown }).first().waitFor();
    },
    expectFresh: async () => {
      await site.sample();
      await alert.waitFor({ state: 'detached' });
      await shown.waitFor();
      expect(await page.locator('.stale').count()).toBe(0);
    },
  };
}

test.each(SCREENS)(
  'while the database is away, %s keeps what it shows, with its age, and goes on when it is back',
  async (place, make, sought) => {
    const screen = await opened(place, make, sought);
    const restore = site.loseDatabase();
    await screen.expectOld('unavailable');
    await expectUsable(screen);
    restore();
    await screen.expectFresh();
    expect(screen.faults({ requestsFail: true })).toEqual([]);
  },
);

test('so does a screen while the server is away', async () => {
  const screen = await opened('tasks', aTask, 'mail');
  // The stream stays, so that there are figures after which the screen reads again.
  await screen.page.route(READS, (route) => route.abort());
  await screen.expectOld('unreachable');
  await screen.page.unroute(READS);
  await screen.expectFresh();
  expect(screen.faults({ requestsFail: true })).toEqual([]);
});
