import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface Mail {
  readonly secure: boolean;
  readonly to: readonly string[];
  readonly text: string;
}

/**
 * An SMTP server with the user `u` and the password `right`, whose recipients called gone are gone. Its certificate is
 * nobody's.
 */
export async function startSmtpServer(options: { readonly secure: boolean }) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    ...options,
    authOptional: false,
    onAuth: ({ password }, _session, done) =>
      password === 'right' ? done(null, { user: 'u' }) : done(new Error('wrong password')),
    onRcptTo: ({ address }, _session, done) =>
      address.startsWith('gone@')
        ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 }))
        : done(),
    onData(stream, { secure, envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ secure, to, text: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  // A client that refuses the certificate hangs up.
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  return { port, mails, close: () => server.close() };
}
