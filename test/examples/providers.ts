import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** What the handlers of the channels talk to: an SMTP server, a gateway for text messages and a storage of files. */
export interface Providers {
  /** The variables of the worker. */
  readonly env: Readonly<Record<string, string>>;
  /** To whom something was sent, and which objects were deleted, once for each time. */
  readonly done: { readonly mails: string[]; readonly messages: string[]; readonly deletions: string[] };
  close(): void;
}

/**
 * Starts providers that refuse as a name says: of all attempts about `fails-2-ann`, known by their idempotency keys, the
 * first two, however often each is made. `before` happens before an answer.
 */
export async function startProviders(before: () => Promise<void> = async () => {}): Promise<Providers> {
  const done = { mails: [] as string[], messages: [] as string[], deletions: [] as string[] };
  const refuses = refusals();

  const smtp = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] },
    onData(stream, { envelope }, answer) {
      const to = envelope.rcptTo[0]!.address;
      void textOf(stream).then(async (text) => {
        await before();
        const key = /^Message-ID: (.*)$/im.exec(text)?.[1];
        // Of an e-mail whose client was killed a part may come, without its key: that is no attempt.
        if (key === undefined) return answer(new Error('incomplete'));
        if (refuses(to, key)) return answer(new Error('mailbox is full'));
        done.mails.push(to);
        answer();
      });
    },
  });
  // A client that is killed hangs up.
  smtp.on('error', () => {});
  const mail = smtp.listen(0, '127.0.0.1');

  const http = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    const text = await textOf(request);
    const answer = (status: number, body: object = {}) =>
      response.writeHead(status).end(JSON.stringify(body));
    if (pathname === '/files') {
      const query = new URLSearchParams({
        name: JSON.parse(text).object_key,
        key: headerOf(request, 'idempotency-key'),
      });
      return answer(200, { url: `${origin}/object?${query}` });
    }
    await before();
    if (pathname === '/sms') {
      const { to_number } = JSON.parse(text) as { readonly to_number: string };
      if (refuses(to_number, headerOf(request, 'webhook-id'))) return answer(503);
      done.messages.push(to_number);
      return answer(200);
    }
    const name = searchParams.get('name')!;
    if (refuses(name, searchParams.get('key')!)) return answer(423);
    done.deletions.push(name);
    return answer(204);
  });
  http.listen(0, '127.0.0.1');
  await Promise.all([once(mail, 'listening'), once(http, 'listening')]);
  const origin = `http://127.0.0.1:${portOf(http)}`;
  return {
    env: {
      SMTP_URL: `smtp://127.0.0.1:${portOf(mail)}?ignoreTLS=true`,
      SMTP_FROM: 'shop@example.org',
      SMS_URL: `${origin}/sms`,
      SMS_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      FILES_URL: `${origin}/files`,
    },
    done,
    close() {
      smtp.close();
      http.closeAllConnections();
      http.close();
    },
  };
}

function refusals(): (name: string, key: string) => boolean {
  const keysOf = new Map<string, string[]>();
  return (name, key) => {
    const keys = keysOf.get(name) ?? [];
    if (!keys.includes(key)) keys.push(key);
    keysOf.set(name, keys);
    return keys.indexOf(key) < Number(/fails-(\d+)/.exec(name)?.[1] ?? 0);
  };
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk as Buffer);
  } catch {
    // Its client was killed: nobody waits for an answer.
  }
  return Buffer.concat(chunks).toString();
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  return String(headers[name]);
}

function portOf(server: { address(): AddressInfo | string | null }): number {
  return (server.address() as AddressInfo).port;
}
