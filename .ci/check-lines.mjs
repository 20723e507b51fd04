// Lists the lines of SQL that are too long: biome, which wraps all else, does not read SQL. Exits with 1 if there are any.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MOST = 120;

for (const name of readdirSync('sql', { recursive: true, encoding: 'utf8' }).sort()) {
  if (!name.endsWith('.sql')) continue;
  for (const [index, line] of readFileSync(join('sql', name), 'utf8').split('\n').entries()) {
    const length = [...line].length;
    if (length <= MOST) continue;
    console.error(`sql/${name}:${index + 1}: ${length} characters, of which ${MOST} fit`);
    process.exitCode = 1;
  }
}
