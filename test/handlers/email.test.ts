import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { useWorkers } from '../worker/support/workers.ts';
import { startSmtpServer } from './smtp-server.ts';

/* The handler that sends e-mails, with a server that speaks SMTP. */

const queue = useWorkers('file');
let starting: Awaited<ReturnType<typeof startSmtpServer>>;
let secure: Awaited<ReturnType<typeof startSmtpServer>>;

const work = (name: string, SMTP_URL: string) =>
  queue.work(['--types', 'email', '--queues', name], {
    handlers: join(REPOSITORY, 'handlers'),
    env: { SMTP_URL, SMTP_FROM: 'Shop <shop@example.org>', SMTP_TIMEOUT_MS: '5000' },
  });

beforeAll(async () => {
  [starting, secure] = await Promise.all([
    startSmtpServer({ secure: false }),
    startSmtpServer({ secure: true }),
  ]);
  expect(await queue.run('migrate', '--with', 'queues')).toMatchObject({ code: 0 });
  await queue.rows(await readFile(join(import.meta.dirname, 'providers.sql'), 'utf8'));
  work('default', `smtp://u:right@127.0.0.1:${starting.port}?requireTLS=true&tls.rejectUnauthorized=false`);
});
afterAll(() => {
  starting.close();
  secure.close();
});

async function send(prepared: object, name = 'default') {
  const payload = {
    before_handler: 'comms.get_payload',
    success_handler: 'comms.record_success',
    error_handler: 'comms.record_failure',
    prepared,
  };
  const id = await queue.enqueue('email', payload, { queue: name });
  await queue.ended(id);
  return { id, task: await queue.task(id) };
}

test('an e-mail is sent over TLS, with the key of its task as its Message-ID', async () => {
  const { id, task } = await send({
    ...{ to_address: ['ann@example.org', 'gone@example.org'], subject: 'Your order', text: 'is on its way' },
  });
  const installation = await queue.value<string>('select installation::text from taskq.release');
  expect(task).toMatchObject({
    status: 'completed',
    result: {
      status: 'succeeded',
      worker_payload: {
        message_id: `<task-${installation}-${id}@example.org>`,
        accepted: ['ann@example.org'],
        rejected: ['gone@example.org'],
      },
    },
  });
  expect(starting.mails.at(-1)).toMatchObject({ secure: true, to: ['ann@example.org'] });
  expect(starting.mails.at(-1)!.text).toMatch(
    /From: Shop <shop@example\.org>[\s\S]*Subject: Your order[\s\S]*is on its way/,
  );
});

test('a refusal is recorded, and what is no e-mail is not sent', async () => {
  const before = starting.mails.length;
  for (const [prepared, error] of [
    [{ to_address: 'gone@example.org' }, /550 no such mailbox/],
    [{}, /to_address: expected an address/],
    [{ to_address: 'a@example.org\r\nRCPT TO:<evil@example.org>' }, /to_address: expected an address/],
    [{ to_address: 'a@example.org', text: { path: '/etc/passwd' } }, /File access rejected/],
  ] as const) {
    const { task } = await send(prepared);
    expect(task).toMatchObject({
      status: 'completed',
      result: { status: 'failed', error: expect.stringMatching(error) },
    });
  }
  expect(starting.mails).toHaveLength(before);
});

test('SMTP over TLS from the beginning, a certificate that is not trusted, and a wrong password', async () => {
  const at = (user: string, options: string) => `smtps://${user}@127.0.0.1:${secure.port}${options}`;
  work('secure', at('u:right', '?tls.rejectUnauthorized=false'));
  work('untrusted', at('u:right', ''));
  work('wrong', at('u:wrong', '?tls.rejectUnauthorized=false'));
  const prepared = { to_address: 'ann@example.org', text: 'hello' };
  expect((await send(prepared, 'secure')).task).toMatchObject({ result: { status: 'succeeded' } });
  expect((await send(prepared, 'untrusted')).task).toMatchObject({
    result: { status: 'failed', error: expect.stringMatching(/certificate/) },
  });
  expect((await send(prepared, 'wrong')).task).toMatchObject({
    result: { status: 'failed', error: expect.stringMatching(/Invalid login|wrong password/) },
  });
  expect(secure.mails).toHaveLength(1);
});

test.each([
  ['', /email\.ts: SMTP_URL is not set/],
  ['http://x', /email\.ts: SMTP_URL must be a URL of smtp or smtps/],
])('a worker does not start with SMTP_URL %j', async (url, message) => {
  const worker = work('none', url);
  expect(await worker.exit).toMatchObject({ code: 2 });
  expect(worker.stderr()).toMatch(message);
});
