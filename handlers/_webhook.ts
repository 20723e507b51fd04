import { createHmac } from 'node:crypto';
import { type LookupAddress, lookup } from 'node:dns';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** What is sent, and within which limits. */
export interface Call {
  readonly method: 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For all of it, until the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether addresses of this host and of private networks may be called. */
  readonly allowPrivate: boolean;
}

export interface Answer {
  readonly status: number;
  /** Its JSON, or else its text; null: it has none. */
  readonly body: unknown;
}

/** An answer that is no success, or none. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly status: number | undefined;
  /** When the other side asks to be called again. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { status, retryAfterMs }: { status?: number; retryAfterMs?: number } = {}) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** More is cut: an answer is stored with the task. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Calls a URL. Resolves for a status of 2xx, and those of `also`. Follows no redirect. Throws CallError. */
export async function callUrl(call: Call, also: readonly number[] = []): Promise<Answer> {
  const { response, text } = await send(call);
  const status = response.statusCode ?? 0;
  if ((status >= 200 && status < 300) || also.includes(status)) return { status, body: bodyOf(text) };
  const where = placeOf(call.url);
  if (status >= 300 && status < 400)
    throw new CallError(`${where} redirects, which is not followed: ${status}`, { status });
  const retryAfterMs = retryAfterOf(response.headers['retry-after'], Date.now());
  throw new CallError(`${where} answered ${status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`, {
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** The headers that sign a message by the Standard Webhooks scheme (https://www.standardwebhooks.com). */
export function signed(
  secret: Buffer,
  message: { readonly id: string; readonly body: string; readonly at: Date },
): Record<string, string> {
  const timestamp = String(Math.floor(message.at.getTime() / 1000));
  const signature = createHmac('sha256', secret)
    .update(`${message.id}.${timestamp}.${message.body}`)
    .digest('base64');
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

/** Reads the key of a secret such as `whsec_…`: 24 to 64 bytes in base64. Throws an error that names the variable. */
export function secretOf(variable: string): Buffer {
  const key = Buffer.from(settingOf(variable).replace(/^whsec_/, ''), 'base64');
  if (key.length >= 24 && key.length <= 64) return key;
  throw new Error(`${variable} must be whsec_ and 24 to 64 bytes in base64: ${key.length} bytes are given`);
}

/** Reads a variable of the environment. Throws if it is not set. */
export function settingOf(variable: string): string {
  const value = process.env[variable];
  if (value === undefined || value === '') throw new Error(`${variable} is not set`);
  return value;
}

/** Reads a URL of http or https. Throws an error that names the variable. */
export function urlOf(variable: string): string {
  const value = settingOf(variable);
  if (parsed(value) !== undefined) return value;
  throw new Error(`${variable} must be a URL of http or https`);
}

/** Reads a number of milliseconds. Throws an error that names the variable. */
export function millisecondsOf(variable: string, byDefault: number): number {
  const value = process.env[variable] ?? '';
  if (value === '') return byDefault;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new Error(`${variable} must be a number of milliseconds`);
}

function parsed(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
}

function send(call: Call): Promise<{ readonly response: IncomingMessage; readonly text: string }> {
  const url = parsed(call.url);
  if (url === undefined) throw new CallError(`${JSON.stringify(call.url)} is no URL of http or https`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!call.allowPrivate && isIP(host) !== 0 && isPrivate(host)) throw refusedAddress(host, host);
  const { method, headers, body = '', timeoutMs, signal } = call;
  const where = placeOf(call.url);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        method,
        signal,
        // A connection that is kept may lead to an address that was not checked.
        agent: false,
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        ...(!call.allowPrivate && { lookup: lookupPublic }),
      },
      (response) => {
        readText(response).then((text) => resolve({ response, text }), fail);
      },
    );
    let late: CallError | undefined;
    const timer = setTimeout(() => {
      late = new CallError(`${where} has not answered within ${timeoutMs} ms`);
      request.destroy(late);
    }, timeoutMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(late ?? (error instanceof CallError ? error : new CallError(`${where}: ${error.message}`)));
    };
    request.on('error', fail);
    request.on('close', () => clearTimeout(timer));
    request.end(body);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (bytes < MAX_ANSWER_BYTES) chunks.push(chunk);
    bytes += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString().replaceAll('\0', '');
}

function bodyOf(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Seconds, or a date. */
function retryAfterOf(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), 86_400_000) : undefined;
}

/** Without what may be secret: the path of a signed URL, say. */
function placeOf(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

/** Checks the addresses that the connection is made to: a second look at the name could find others. */
const lookupPublic: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    const addresses = found as readonly LookupAddress[];
    if (error) return done(error, '', 0);
    const wrong = addresses.find(({ address }) => isPrivate(address));
    if (wrong !== undefined) return done(refusedAddress(host, wrong.address), '', 0);
    if (options.all) return done(null, [...addresses]);
    done(null, addresses[0]!.address, addresses[0]!.family);
  });
};

function refusedAddress(host: string, address: string): CallError {
  const what = host === address ? host : `${host} (${address})`;
  return new CallError(`${what} is an address of this host or of a private network, which is not called`);
}

export function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv4');
// The ranges of unspecified and local addresses, and those that stand for addresses of version 4.
for (const [network, prefix] of [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv6');
