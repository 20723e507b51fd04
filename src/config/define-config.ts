import type { ConfigInput } from './settings.ts';

/** Give a `taskq.config.ts` its types; returns what it is given. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}
