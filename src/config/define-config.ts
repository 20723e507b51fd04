import type { ConfigInput } from './settings.ts';

/** Types the content of a `taskq.config.ts`; returns its argument. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}
