// Writes the hash of sql/functions and sql/with into sql/release.json and raises its number. Run it after every change there.
import { readFile, writeFile } from 'node:fs/promises';
import { hashRelease } from '../dist/queue/schema/schema-release.js';

const file = new URL('../sql/release.json', import.meta.url);
const release = JSON.parse(await readFile(file, 'utf8'));
const hash = await hashRelease();
if (release.functions_hash !== hash) {
  Object.assign(release, { number: release.number + 1, functions_hash: hash });
  await writeFile(file, `${JSON.stringify(release, null, 2)}\n`);
}
console.log(`release ${release.number} ${hash}`);
