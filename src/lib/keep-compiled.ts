import module from 'node:module';
import { privateCache } from './private-cache.ts';

/**
 * From Node 22 on: later processes reuse the code that this one compiles. Without a directory, Node would use one in
 * /tmp.
 */
export function keepCompiled(): void {
  const { enableCompileCache } = module as { enableCompileCache?: (directory: string) => unknown };
  const directory = enableCompileCache && privateCache('compiled');
  if (directory) enableCompileCache(directory);
}
