import type { EmbeddedServer } from '../../embedded/server.ts';
import type { Screen } from './output.ts';

/** The local server as `taskq db status --json` prints it. */
export interface DescribedServer {
  readonly running: true;
  readonly version: string;
  readonly pid: number;
  /** The OS user it runs as. */
  readonly user: string;
  /** The database of the project in the working directory. */
  readonly database: string;
  readonly url: string;
  readonly data_dir: string;
  readonly log_file: string;
}

export function describeServer(server: EmbeddedServer, database: string): DescribedServer {
  return {
    running: true,
    version: server.version,
    pid: server.pid,
    user: server.user,
    database,
    url: server.url(database),
    data_dir: server.dataDir,
    log_file: server.logFile,
  };
}

/** The same for people. */
export function formatServer(server: DescribedServer, { paint }: Screen): string {
  const facts = [
    ['database', server.database],
    ['url', server.url],
    ['data', server.data_dir],
    ['log', server.log_file],
  ] as const;
  return [
    `${paint.green('running')}  PostgreSQL ${server.version}, process ${server.pid} of ${server.user}`,
    ...facts.map(([label, text]) => `  ${paint.dim(label.padEnd(8))}  ${text}`),
  ].join('\n');
}
