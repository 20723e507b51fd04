import { type LoadedConfig, loadConfig } from '../../config/load-config.ts';
import type { Environment } from './environment.ts';
import type { GlobalOptions } from './global-options.ts';

/** Read the settings of one run of the binary. Throws TaskqError (exit 2). */
export function readConfig(from: {
  readonly cwd: string;
  readonly env: Environment;
  readonly options: GlobalOptions;
}): Promise<LoadedConfig> {
  const { cwd, env, options } = from;
  return loadConfig({ cwd, env, configPath: options.config, flags: { ...options } });
}
