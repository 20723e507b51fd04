import { createTransport } from 'nodemailer';
import { defineChannel } from 'taskq';
import { millisecondsOf, settingOf } from './_webhook.ts';

/** What before_handler prepares. */
interface Email {
  readonly to_address: string | string[];
  readonly subject?: string;
  readonly text?: string;
  readonly html?: string;
  /** SMTP_FROM by default. */
  readonly from_address?: string;
  readonly cc_address?: string | string[];
  readonly bcc_address?: string | string[];
  readonly reply_to?: string;
}

/**
 * Sends an e-mail by SMTP. SMTP_URL is `smtps://user:password@host:465`, or `smtp://…:587?requireTLS=true`; SMTP_FROM the
 * sender; SMTP_TIMEOUT_MS (10000) how long the server may be silent. The Message-ID is made from the idempotency key, so
 * that an e-mail that is sent twice can be recognized.
 */
export default defineChannel<Email>({
  prepare() {
    serverOf();
    settingOf('SMTP_FROM');
    millisecondsOf('SMTP_TIMEOUT_MS', 10_000);
  },
  async call(payload, { idempotencyKey }) {
    const { to_address, subject, text, html, from_address, cc_address, bcc_address, reply_to } =
      payload ?? {};
    if (!isAddress(to_address)) throw new TypeError('to_address: expected an address, or an array of them');
    const from = from_address ?? settingOf('SMTP_FROM');
    const sent = await transport().sendMail({
      ...{ from, to: to_address, subject, text, html, cc: cc_address, bcc: bcc_address, replyTo: reply_to },
      messageId: `<task-${idempotencyKey}@${/@([^\s>]+)/.exec(from)?.[1] ?? 'localhost'}>`,
      // A payload says what to send, and reads no file or URL of this host.
      ...{ disableFileAccess: true, disableUrlAccess: true },
    });
    const { messageId, accepted, rejected, response } = sent;
    return { message_id: messageId, accepted, rejected, response };
  },
});

let opened: ReturnType<typeof open> | undefined;

/** Its connections are used again. */
function transport() {
  opened ??= open();
  return opened;
}

function open() {
  const silenceMs = millisecondsOf('SMTP_TIMEOUT_MS', 10_000);
  return createTransport({
    ...{ url: serverOf(), pool: true as const, maxConnections: 8, maxMessages: 1000 },
    ...{ connectionTimeout: silenceMs, greetingTimeout: silenceMs, socketTimeout: silenceMs },
  });
}

function serverOf(): string {
  const url = settingOf('SMTP_URL');
  if (URL.canParse(url) && /^smtps?:$/.test(new URL(url).protocol)) return url;
  throw new Error('SMTP_URL must be a URL of smtp or smtps');
}

function isAddress(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((one) => isText(one));
  return isText(value);
}

/** Without line ends: what follows one would be read as something else. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !/[\r\n]/.test(value);
}
