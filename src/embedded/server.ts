/** Which local server is meant, and how it is made when it is not there yet. */
export interface EmbeddedOptions {
  /** Where binaries, data, socket and log live; by default one place per OS user. */
  readonly stateDir?: string;
  /** Run these binaries in place instead of the packaged ones: Debian's `/usr/lib/postgresql/15/bin`, say. */
  readonly binDir?: string;
  /** The directory of the npm package with the binaries; looked up beside taskq when absent. */
  readonly packageDir?: string;
  /** Further server settings (`-c name=value`); they win over our own and count only when it is started. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called before each step of a start that takes a moment. */
  readonly onProgress?: (step: StartStep) => void;
}

/** A step of a start that takes long enough to be worth a line. */
export type StartStep = 'copying binaries' | 'creating the data directory' | 'starting';

/** A local server that accepts connections. */
export interface EmbeddedServer {
  readonly stateDir: string;
  /** The directory of the Unix socket; there is no TCP port. */
  readonly socketDir: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly pid: number;
  /** As the server names it: `18.4`. */
  readonly version: string;
  /** The OS user it runs as. */
  readonly user: string;
  /** The connection string of one of its databases, for `pg` and `psql` alike. */
  url(database: string): string;
}
