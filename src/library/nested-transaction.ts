import { GuardedClient, type LastStatement, type OpenTransaction } from '../lib/open-transaction.ts';
import type { PgClient } from '../lib/pg-client.ts';
import { isAnyServerError } from '../lib/server-trouble.ts';

/** SQLSTATE of a savepoint where no transaction is open. */
const NO_TRANSACTION = '25P01';

/**
 * Begins a transaction on a test's own connection: within the one that is open there, as a savepoint, or one of its
 * own. The setting lasts as long.
 */
export async function beginNested(
  client: PgClient,
  setting: string,
  value: string,
): Promise<OpenTransaction> {
  const run = (text: string, values: unknown[] = []) => client.query({ text, values });
  const isNested = await run('savepoint taskq_transaction').then(
    () => true,
    (error: unknown) => {
      if (isAnyServerError(error) && error.code === NO_TRANSACTION) return false;
      throw error;
    },
  );
  if (!isNested) await run('begin isolation level read committed');
  await run('select set_config($1, $2, true)', [setting, value]);
  const guarded = new GuardedClient(takingText(client));
  let isCut = false;
  const undo = async () => {
    if (!isNested) return run('rollback');
    await run('rollback to savepoint taskq_transaction');
    return run('release savepoint taskq_transaction');
  };

  return {
    client: guarded.client,
    async commit({ text, values }: LastStatement) {
      guarded.close('the transaction is over');
      try {
        await run(text, [...values]);
        await run(isNested ? 'release savepoint taskq_transaction' : 'commit');
      } catch (error) {
        await undo();
        throw error;
      }
    },
    async rollback() {
      if (guarded.closed !== undefined && !isCut) return;
      guarded.close('the transaction was rolled back');
      isCut = false;
      await undo();
    },
    cut(why) {
      // The test's connection stays open: what was written is undone once the handler has ended.
      isCut = guarded.closed === undefined;
      guarded.close(why);
    },
  };
}

/** Runs one statement in a transaction of its own, as `beginNested` begins it. */
export async function runNested<Row, T>(
  client: PgClient,
  { text, values }: LastStatement,
  read: (rows: readonly Row[]) => T,
): Promise<T> {
  const transaction = await beginNested(client, 'taskq.transaction', '');
  try {
    const { rows } = await transaction.client.query<Row>(text, values);
    const value = read(rows);
    await transaction.commit({ text: 'select', values: [] });
    return value;
  } finally {
    await transaction.rollback();
  }
}

/** A test's own client need only take statements as objects; handlers may also pass texts with values. */
function takingText(client: PgClient): PgClient {
  type Statement = string | { readonly text: string; readonly values?: readonly unknown[] };
  const query = (statement: Statement, given?: readonly unknown[]) => {
    const { text, values = given ?? [] } = typeof statement === 'string' ? { text: statement } : statement;
    return client.query({ ...(typeof statement === 'object' && statement), text, values: [...values] });
  };
  return Object.assign(Object.create(client) as PgClient, { query });
}
