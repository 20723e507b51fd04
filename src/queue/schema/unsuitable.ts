import type { Client } from '../../lib/connect.ts';
import { TaskqError } from '../../lib/errors.ts';

const OLDEST_VERSION = 14;

/**
 * Throws `database_unsuitable` for a server before PostgreSQL 14, and for a database whose encoding lacks characters
 * that payloads, results and errors may have.
 */
export async function refuseUnsuitable(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string; encoding: string; version: number }>(
    `select current_database() as name, current_setting('server_encoding') as encoding,
      current_setting('server_version_num')::integer / 10000 as version`,
  );
  const { name, encoding, version } = rows[0]!;
  if (version < OLDEST_VERSION) {
    throw unsuitable(`the server is PostgreSQL ${version}: taskq needs ${OLDEST_VERSION} or later`, {
      hint: 'upgrade the server, or use another one',
    });
  }
  if (encoding !== 'UTF8') {
    throw unsuitable(`the database ${name} has the encoding ${encoding}: taskq needs UTF8`, {
      hint: 'use another one, made with createdb --encoding UTF8 --template template0',
    });
  }
}

function unsuitable(what: string, options: { readonly hint: string }): TaskqError {
  return new TaskqError('database_unsuitable', what, options);
}
