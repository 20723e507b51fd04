/** Which local server to use, and how to create it if it does not exist. */
export interface EmbeddedOptions {
  /** Directory of binaries, data, socket and log; default: one per OS user. */
  readonly stateDir?: string;
  /** Directory of binaries to run instead of the packaged ones, such as Debian's `/usr/lib/postgresql/15/bin`. */
  readonly binDir?: string;
  /** Directory of the npm package with the binaries; default: the one installed with taskq. */
  readonly packageDir?: string;
  /** More server settings (`-c name=value`); they override ours and apply only when the server is started. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called before each step of a start that takes a while. */
  readonly onProgress?: (step: StartStep) => void;
}

/** A step of a start that takes long enough to report. */
export type StartStep = 'copying binaries' | 'creating the data directory' | 'starting';

/** A local server that accepts connections. */
export interface EmbeddedServer {
  readonly stateDir: string;
  /** Directory of the Unix socket; there is no TCP port. */
  readonly socketDir: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly pid: number;
  /** The server's own version number: `18.4`. */
  readonly version: string;
  /** The OS user it runs as. */
  readonly user: string;
  /** Returns the connection string of one of its databases, for `pg` and `psql` alike. */
  url(database: string): string;
}
