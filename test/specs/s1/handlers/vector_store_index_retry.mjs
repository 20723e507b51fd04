import { sql } from '../../application.mjs';
import { index } from '../vector-store.mjs';

const BATCH_SIZE = 10;

/** Index a batch of the entries that the store does not have; failed while some are left. */
export default {
  maxAttempts: 'unlimited',
  backoff: { kind: 'fixed', base: '10m', jitter: 0 },
  retention: 'none',
  async run(_, { log }) {
    const pending = await sql(
      'select * from app.entries where indexed_content is not null and indexed_at is null order by id limit $1',
      BATCH_SIZE,
    );
    let failed = 0;
    for (const entry of pending) {
      try {
        await index(entry);
        await sql('update app.entries set indexed_at = clock_timestamp() where id = $1', entry.id);
      } catch (error) {
        failed += 1;
        log.warn('an entry was not indexed', { entry: entry.id, error: String(error) });
      }
    }
    if (failed > 0 || pending.length === BATCH_SIZE) {
      throw new Error('some entries are pending or failed');
    }
  },
};
