/** Where a scenario runs: a migrated database of its own. */
export interface Testbed {
  /** The server itself, as a role that may end the sessions of others. */
  readonly url: string;
  /** Starts `taskq` with these arguments, as a process that the scenario may kill. */
  readonly start: (args: readonly string[], env: Readonly<Record<string, string>>) => Killable;
  /** Ends the server without a shutdown, and starts it again. Absent: others use the server. */
  readonly crash?: () => Promise<void>;
}

export interface Killable {
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  readonly exit: Promise<unknown>;
}

/** What a scenario found: the faults, none if all is well; and the figures, which show that it reached what it tests. */
export interface Found {
  readonly faults: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

/** Breaks things under load for so long, lets what is left end now and then, and looks at what came of it. */
export type Scenario = (testbed: Testbed, seconds: number) => Promise<Found>;
