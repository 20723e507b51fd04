import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Returns the directory of our own package.json, without a trailing slash. `src` and `dist` are directly below it. */
export function packageRoot(): string {
  return fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');
}

/** Returns our own version, from package.json. */
export function packageVersion(): string {
  const manifest: { version: string } = createRequire(import.meta.url)('../../package.json');
  return manifest.version;
}
