import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { useSite } from './use-site.ts';

const site = useSite();

const DIRECTORY = join(REPOSITORY, 'docs/ui');

/** A queue after an hour of work: some tasks wait, some run, some have died. */
async function work(): Promise<{ readonly id: string; readonly workflow: string }> {
  const { admin } = site.database;
  const types = { 'send-email': {}, 'render-report': {}, 'resize-image': {} };
  const worker = await registerWorker(admin, types);
  const add = (type: string, queue: string, payload: object, options: object = {}) =>
    admin.value<string>('select id::text from taskq.enqueue($1, $2, $3)', type, payload, {
      queue,
      ...options,
    });
  for (const to of ['bob', 'carol', 'dan']) await add('send-email', 'mail', { to: `${to}@example.org` });
  const error = { name: 'SmtpError', message: 'no such mailbox', code: 'E550', stack: null, cause: null };
  for (const claimed of await worker.claim({ queues: ['mail'], types: ['send-email'], start: 2 }))
    await worker.settle(outcome(claimed, 'dead', { error }));
  await worker.claim({ queues: ['mail'], types: ['send-email'] });
  for (let page = 1; page <= 24; page += 1)
    await add('resize-image', 'images', { image: `photo-${page}.jpg`, width: 640 });
  await worker.claim({ queues: ['images'], types: ['resize-image'], start: 5 });
  const id = await add(
    'render-report',
    'reports',
    { month: '2026-01', orders: 12_345, total: { amount: 1_234_567.89, currency: 'EUR' } },
    { key: 'report-2026-01', tags: { customer: '42' }, priority: 1 },
  );
  const slow = {
    name: 'TimeoutError',
    message: 'the database took 30 s',
    code: 'ETIMEDOUT',
    stack: null,
    cause: null,
  };
  const failed = await claimOne(worker, { queues: ['reports'], types: ['render-report'] });
  await worker.settle(outcome(failed, 'failed', { error: slow, delay_ms: 600_000, ran_ms: 30_000 }));
  await add('call-partner', 'partners', {}, { allow_unknown: true });
  await admin.rows("select taskq.pause_queue('reports', null, 'the database is moved')");
  await admin.rows(`
    insert into taskq.metrics (span, since, queue, type, created, completed, dead, waits, runs)
    select 'minute', date_trunc('minute', clock_timestamp()) - minute * interval '1 minute', 'mail', 'send-email',
      40 + 25 * sin(minute / 7.0) + (minute * 7919 % 13), 38 + 24 * sin((minute + 2) / 7.0) + (minute * 104729 % 11),
      case when minute between 20 and 26 then 9 else 0 end, '{}', '{}'
    from generate_series(1, 60) as minute`);
  const steps = [
    { step: 'extract', type: 'send-email' },
    ...['customers', 'orders', 'products'].map((step) => ({
      step,
      type: 'resize-image',
      after: ['extract'],
    })),
    { step: 'index', type: 'resize-image', after: ['orders', 'products'] },
    { step: 'publish', type: 'render-report', after: ['customers', 'index'] },
  ].map((step) => ({ ...step, queue: 'import' }));
  const workflow = await admin.value<string>(
    'select id::text from taskq.run_workflow($1)',
    JSON.stringify({ name: 'import', steps }),
  );
  await worker.settle(
    outcome(await claimOne(worker, { queues: ['import'], types: ['send-email'] }), 'completed'),
  );
  await worker.claim({ queues: ['import'], types: ['resize-image'], start: 2 });
  await site.sample();
  return { id, workflow };
}

/**
 * Takes the pictures of docs/ui.md, and with TASKQ_PICTURES=1 writes them. Whatever they show is tested elsewhere: here
 * only that the document has them all.
 */
test('the document shows each of its pictures', async () => {
  const { id, workflow } = await work();
  const pictures = [
    { name: 'overview', fragment: '#/overview', shown: '.plot path', opening: { width: 1120, height: 760 } },
    { name: 'task', fragment: `#/task/${id}`, shown: '.causes li', opening: { width: 1120, height: 760 } },
    { name: 'dead', fragment: '#/dead', shown: 'tbody tr', opening: { width: 1120, height: 480 } },
    {
      name: 'workflow',
      fragment: `#/workflows/${workflow}`,
      shown: 'svg svg',
      opening: { width: 1120, height: 760 },
    },
    { name: 'charts', fragment: '#/charts', shown: '.plot path', opening: { width: 1120, height: 760 } },
    {
      name: 'tasks-narrow',
      fragment: '#/tasks',
      shown: 'tbody tr',
      opening: { theme: 'dark', width: 360, height: 640 },
    },
  ] as const;
  const document = readFileSync(join(REPOSITORY, 'docs/ui.md'), 'utf8');
  const named = [...document.matchAll(/\]\(ui\/([\w-]+)\.png\)/g)].map(([, name]) => name);
  expect(pictures.map(({ name }) => name)).toEqual(named);
  if (process.env.TASKQ_PICTURES !== '1') return;
  mkdirSync(DIRECTORY, { recursive: true });
  for (const { name, fragment, shown, opening } of pictures) {
    const { page } = await site.open(fragment, opening);
    await page.locator(shown).first().waitFor({ state: 'attached' });
    await page.getByRole('banner').getByText('live', { exact: true }).waitFor({ state: 'attached' });
    await page.screenshot({ path: join(DIRECTORY, `${name}.png`) });
  }
});
