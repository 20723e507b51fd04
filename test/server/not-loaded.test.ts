import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';

const BUNDLED = join(REPOSITORY, 'dist/bundled');

/** The packages that a built file imports, itself or through others, as it is loaded. */
function packagesOf(name: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(name)) return [];
  seen.add(name);
  const text = readFileSync(join(BUNDLED, name), 'utf8');
  const imported = [...text.matchAll(/^(?:import|export) .*?["']([^"'\n]+)["'];?$/gm)].map(
    ([, from]) => from!,
  );
  return imported.flatMap((from) =>
    from.startsWith('.') ? packagesOf(join(dirname(name), from), seen) : [from],
  );
}

test('only the server loads the packages of HTTP', () => {
  const ofHttp = (name: string) => packagesOf(name).filter((from) => from.includes('hono'));
  for (const name of ['index.js', 'testing.js', 'main.js', 'child.js', 'work.js', 'run-command.js'])
    expect([name, ofHttp(name)]).toEqual([name, []]);
  expect(ofHttp('serve.js')).toEqual(['hono']);
});
