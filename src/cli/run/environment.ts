/** The environment of the process, passed in by `bin`. */
export type Environment = Readonly<Record<string, string | undefined>>;
