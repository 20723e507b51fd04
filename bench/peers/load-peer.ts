import type { Peer, SystemName } from './peer.ts';

/** Load only the peer of this system. */
export async function loadPeer(name: SystemName): Promise<Peer> {
  switch (name) {
    case 'taskq':
      return (await import('./taskq.ts')).taskq;
    case 'floor':
      return (await import('./floor.ts')).floor;
    case 'raw':
      return (await import('./raw.ts')).raw;
    case 'graphile-worker':
      return (await import('./graphile-worker.ts')).graphileWorker;
    case 'pg-boss':
      return (await import('./pg-boss.ts')).pgBoss;
    case 'bullmq-redis':
      return (await import('./bullmq.ts')).bullmqOnRedis;
    case 'bullmq-postgres':
      return (await import('./bullmq.ts')).bullmqOnPostgres;
    default:
      return name satisfies never;
  }
}
