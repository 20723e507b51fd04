import module from 'node:module';
import { privateCache } from './private-cache.ts';

/** From Node 22 on: what this process compiles, the next need not. Without a directory, Node would take one in /tmp. */
export function keepCompiled(): void {
  const { enableCompileCache } = module as { enableCompileCache?: (directory: string) => unknown };
  const directory = enableCompileCache && privateCache('compiled');
  if (directory) enableCompileCache(directory);
}
