import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Undo } from './undo.ts';

/** A Redis of the bench's own, on a socket. */
export interface RedisServer {
  readonly socket: string;
  readonly about: string;
  /** Forget everything. */
  clear(): Promise<void>;
}

/**
 * Start Redis with `appendfsync always`: what it acknowledges is on disk, like a commit of PostgreSQL. (Redis ships
 * with `everysec`, which may lose a second of acknowledged work.) Undefined: redis-server is not installed.
 */
export async function openRedis(undo: Undo): Promise<RedisServer | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'taskq-bench-redis-'));
  undo.add(() => rm(directory, { recursive: true, force: true }));
  const socket = join(directory, 'redis.sock');
  const server = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', socket, '--dir', directory, '--save', '', '--appendonly', 'yes'].concat([
      '--appendfsync',
      'always',
      '--loglevel',
      'warning',
      '--maxmemory-policy',
      'noeviction',
    ]),
    { stdio: ['ignore', 'ignore', 2], detached: true },
  );
  const isThere = await once(server, 'spawn').then(
    () => true,
    () => false, // by the event `error`
  );
  if (!isThere) return undefined;
  undo.add(() => end(server));
  const client = new Redis({ path: socket, retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => {}); // until the socket is there
  await Promise.race([
    client.ping(),
    sleep(10_000).then(() => Promise.reject(new Error('Redis does not answer'))),
  ]);
  undo.add(async () => client.disconnect());
  const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1];
  return {
    socket,
    about: `Redis ${version}, appendonly yes, appendfsync always`,
    clear: async () => {
      await client.flushall('SYNC');
    },
  };
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}
