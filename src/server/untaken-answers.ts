import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A client that reads nothing of its answer for this long is cut off. */
const STALLED_MS = 30_000;
/** The most bytes of unread answers: above that, the client with the oldest one is cut off. */
const MOST_BYTES = 64 * 1024 * 1024;
/** The most requests that one connection may send before it has the answer to the first. */
const MOST_AHEAD = 16;

/** Limits the memory that unread answers and pipelined requests can take. */
export function limitUntakenAnswers(server: Server): void {
  const untaken = new Map<ServerResponse, number>();
  const ahead = new WeakMap<Socket, number>();
  let bytes = 0;

  const forget = (response: ServerResponse) => {
    bytes -= untaken.get(response) ?? 0;
    untaken.delete(response);
  };
  const cutOffOldest = (latest: ServerResponse) => {
    for (const [oldest] of untaken) {
      if (bytes <= MOST_BYTES || oldest === latest) return;
      forget(oldest);
      oldest.destroy();
    }
  };

  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const requests = (ahead.get(socket) ?? 0) + 1;
    ahead.set(socket, requests);
    if (requests > MOST_AHEAD) socket.destroy();
    // All of it is written, but perhaps not read yet. Once it is, Node sets another time-out.
    response.once('prefinish', () => {
      socket.setTimeout(STALLED_MS);
      untaken.set(response, response.writableLength);
      bytes += response.writableLength;
      cutOffOldest(response);
    });
    response.once('close', () => {
      forget(response);
      ahead.set(socket, ahead.get(socket)! - 1);
    });
  });
}
