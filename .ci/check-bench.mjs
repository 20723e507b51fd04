// Checks the types of bench/. Its own packages are installed when it runs, and it imports what is built: where one of
// those is missing, the errors of the files that import it are left out.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const { status, stdout } = spawnSync(process.execPath, [tsc, '--noEmit', '--project', 'bench'], {
  cwd: root,
  encoding: 'utf8',
});
const missing = Object.keys(JSON.parse(readFileSync(join(root, 'bench/package.json'), 'utf8')).dependencies)
  .filter((name) => !existsSync(join(root, 'node_modules', name)))
  .filter((name) => !existsSync(join(root, 'bench/node_modules', name)));
if (!existsSync(join(root, 'dist'))) missing.push('../../dist');

const errors = stdout.split(/\n(?=\S)/).filter((error) => error.trim() !== '' && !importsMissing(error));
if (errors.length > 0) console.log(errors.join('\n'));
process.exitCode = errors.length > 0 || (status !== 0 && stdout === '') ? 1 : 0;

function importsMissing(error) {
  const file = /^(bench\/.+?)\(\d+,\d+\): error/.exec(error)?.[1];
  if (file === undefined) return false;
  const text = readFileSync(join(root, file), 'utf8');
  return missing.some((name) => text.includes(`from '${name}`));
}
