import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The directory of our own package.json, without a slash at its end. `src` and `dist` lie directly below it. */
export function packageRoot(): string {
  return fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');
}

/** Our own version, from package.json. */
export function packageVersion(): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return manifest.version;
}
