import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Returns whether the answer to this statement must be lost. */
export type Loses = (asked: string) => boolean;

/** A connection route to the server that can be disturbed. */
export interface Way {
  /** The database's URL through this route. */
  readonly url: string;
  /**
   * Lets the next matching statement complete, withholds its answer and breaks its connection. Resolves when that has
   * happened.
   */
  loseAnswerOf(loses: Loses): Promise<void>;
  /** From now on nothing gets through in either direction, without an error; new connections hang too. */
  blackhole(): void;
  /** Breaks every connection, existing or new. */
  cut(): void;
  /** Holds the next connection whose name contains this, until `heal`. Resolves when it is there. */
  holdConnectionOf(name: string): Promise<{ readonly closed: Promise<unknown> }>;
  /** New connections work again, and a held one goes on. Hanging ones stay dead, without an error. */
  heal(): void;
  /** How many connections were requested so far, including those that failed. */
  asked(): number;
  /** Breaks every existing connection. */
  reset(): void;
  close(): Promise<void>;
}

/** Opens a route to the test server, which listens on a Unix socket: another directory with such a socket in it. */
export async function openWay(databaseUrl: string): Promise<Way> {
  const [base, query] = databaseUrl.split('?') as [string, string];
  const settings = new URLSearchParams(query);
  const target = join(settings.get('host')!, `.s.PGSQL.${settings.get('port') ?? '5432'}`);
  const directory = await mkdtemp(join(inject('scratchDirectory'), 'p-'));
  const open = new Set<Socket>();
  let swallowing = false;
  let cutting = false;
  let asked = 0;
  let hold: { name: string; arrived: (connection: { closed: Promise<unknown> }) => void } | undefined;
  let goOn = () => {};
  let trap: { loses: Loses; sprung: () => void } | undefined;

  const server = createServer((client) => {
    asked += 1;
    if (cutting) return void client.destroy();
    const upstream = connect(target);
    let swallowed = swallowing;
    let armed: { sprung: () => void } | undefined;
    const end = () => {
      for (const socket of [client, upstream]) {
        open.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (data) => {
      swallowed ||= swallowing;
      if (swallowed) return;
      if (hold !== undefined && data.includes(hold.name)) {
        hold.arrived({ closed: once(client, 'close') });
        hold = undefined;
        goOn = () => upstream.write(data);
        return;
      }
      if (trap?.loses(data.toString('latin1'))) {
        armed = trap;
        trap = undefined;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      swallowed ||= swallowing;
      if (swallowed) return;
      if (armed === undefined) client.write(data);
      // Ready for query, outside a transaction: the statement is complete.
      else if (data.toString('latin1').endsWith('Z\0\0\0\x05I')) {
        armed.sprung();
        end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(join(directory, '.s.PGSQL.5432'), resolve));
  settings.set('host', directory);
  settings.set('port', '5432');

  const reset = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `${base}?${settings}`,
    loseAnswerOf: (loses) =>
      new Promise((resolve) => {
        trap = { loses, sprung: resolve };
      }),
    blackhole() {
      swallowing = true;
    },
    cut() {
      cutting = true;
      reset();
    },
    holdConnectionOf: (name) =>
      new Promise((resolve) => {
        hold = { name, arrived: resolve };
      }),
    heal() {
      goOn();
      swallowing = false;
      cutting = false;
    },
    asked: () => asked,
    reset,
    async close() {
      reset();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
