import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { TaskqError } from '../lib/errors.ts';
import { within } from '../lib/within.ts';
import { Problem } from './problem.ts';
import { limitUntakenAnswers } from './untaken-answers.ts';

export interface Listening {
  /** Where it listens, without a path. */
  readonly origin: string;
  /** Takes no more requests, and waits a little for those that are being answered. */
  close(): Promise<void>;
}

/** A client that is slower than this to send its request is cut off (408). */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
const MOST_CONNECTIONS = 2000;
const GRACE_MS = 5000;
/** How long a refused client may take to read why; then its connection is closed, whether or not it closes its side. */
const LINGER_MS = 1000;

/** Listens for HTTP requests. Throws TaskqError `cannot_listen`. */
export async function listen(
  fetch: (request: Request) => Promise<Response>,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const server = createAdaptorServer({
    fetch,
    serverOptions: {
      requestTimeout: REQUEST_MS,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: 1000,
    },
  }) as Server;
  server.maxConnections = MOST_CONNECTIONS;
  server.on('clientError', refuse);
  limitUntakenAnswers(server);
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException) => {
      const message = `cannot listen at ${host}:${port}: ${cause.code ?? cause.message}`;
      const hint = 'choose another --port or --host; --port 0 takes a free port';
      reject(new TaskqError('cannot_listen', message, { hint, cause }));
    };
    server.once('error', fail);
    server.listen(port, host, () => {
      // A connection that cannot be accepted, as where no file descriptor is left: its client tries again.
      server.off('error', fail).on('error', () => {});
      resolve();
    });
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      if (!(await within(GRACE_MS, closed))) server.closeAllConnections();
    },
  };
}

/** Answers input that is not a request, or does not arrive in time. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const { status, code } =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new Problem('request_timeout')
      : new Problem([error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, 'bad_request']);
  const body = JSON.stringify({ status, code });
  const head = `HTTP/1.1 ${status} ${code}\r\nconnection: close\r\ncontent-type: application/problem+json`;
  socket.end(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
