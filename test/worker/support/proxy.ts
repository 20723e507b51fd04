import { mkdtemp } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Answers whether the answer to what is being asked is to be lost. */
export type Loses = (asked: string) => boolean;

/** A way to the server that can be disturbed. */
export interface Way {
  /** The database's URL, past this way. */
  readonly url: string;
  /**
   * Lets the next statement that fits be done, keeps its answer back and breaks its connection. Resolves when that
   * has happened.
   */
  loseAnswerOf(loses: Loses): Promise<void>;
  /** From now on nothing gets through in either direction, and nobody is told; new connections hang too. */
  blackhole(): void;
  /** Breaks every connection there is, and every new one. */
  cut(): void;
  /** New connections work. Those that were swallowed stay dead, and nobody is told. */
  heal(): void;
  /** How many connections were asked for so far, those that did not come about included. */
  asked(): number;
  /** Breaks every connection there is. */
  reset(): void;
  close(): Promise<void>;
}

/** Opens a way to the test server, which listens on a Unix socket: another directory with such a socket in it. */
export async function openWay(databaseUrl: string): Promise<Way> {
  const [base, query] = databaseUrl.split('?') as [string, string];
  const settings = new URLSearchParams(query);
  const target = join(settings.get('host')!, `.s.PGSQL.${settings.get('port') ?? '5432'}`);
  const directory = await mkdtemp(join(inject('scratchDirectory'), 'p-'));
  const open = new Set<Socket>();
  let swallowing = false;
  let cutting = false;
  let asked = 0;
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
      // Ready for query, not in a transaction: it is done.
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
    heal() {
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
