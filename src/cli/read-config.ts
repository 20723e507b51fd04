import { type LoadedConfig, loadConfig } from '../config/load-config.ts';
import { normaliseBackoff } from '../domain/backoff.ts';
import { parseMaxAttempts } from '../domain/enqueue-options.ts';
import { checkedName } from '../domain/names.ts';
import { parsePriority } from '../domain/priority.ts';
import { parseRetention } from '../domain/retention.ts';
import type { GlobalOptions } from './global-options.ts';
import type { Environment } from './main.ts';

/** Gather the settings of one run of the binary. Throws TaskqError (exit 2). */
export function readConfig(from: {
  readonly cwd: string;
  readonly env: Environment;
  readonly options: GlobalOptions;
}): Promise<LoadedConfig> {
  const { cwd, env, options } = from;
  return loadConfig({ cwd, env, configPath: options.config, flags: { ...options }, checks: CHECKS });
}

const CHECKS = {
  backoff: normaliseBackoff,
  retention: (value: unknown) => parseRetention(value),
  priority: (value: unknown) => parsePriority(value),
  maxAttempts: (value: unknown) => parseMaxAttempts(value),
  queue: (value: unknown) => checkedName('queue', value),
};
