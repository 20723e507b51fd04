import type { Peer, StoreAddress } from '../peers/peer.ts';
import { batches, payloadOf } from './payload.ts';

const BATCH = 5000;

/** Add `count` tasks of `bytes` bytes, numbered from `from` on. */
export async function fill(
  peer: Peer,
  address: StoreAddress,
  count: number,
  bytes: number,
  from = 0,
): Promise<void> {
  const producer = await peer.openProducer(address, 1);
  try {
    for (const batch of batches(count, BATCH, from)) {
      await producer.addMany(batch.map((n) => payloadOf(n, bytes)));
    }
  } finally {
    await producer.close();
  }
}
