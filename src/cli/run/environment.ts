/** The environment of the process, as `bin` hands it in. */
export type Environment = Readonly<Record<string, string | undefined>>;
