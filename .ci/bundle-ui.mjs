// Builds the web pages, src/ui/, into dist/bundled/ui/. The names of files that a browser may keep have a hash of their
// content in them.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { build } from 'rolldown';

const SOURCE = 'src/ui';
const TARGET = 'dist/bundled/ui';

const { output } = await build({
  logLevel: 'silent',
  input: { app: join(SOURCE, 'main.tsx') },
  platform: 'browser',
  tsconfig: join(SOURCE, 'tsconfig.json'),
  output: {
    dir: TARGET,
    minify: true,
    comments: { legal: true },
    banner: `/*! Contains preact. ${readFileSync('node_modules/preact/LICENSE', 'utf8')}*/`,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
  },
});

const script = output.find(({ isEntry }) => isEntry).fileName;
const style = write('app.css', styleSheet());
const icon = write('favicon.svg', readFileSync(join(SOURCE, 'favicon.svg'), 'utf8').trim());
const page = readFileSync(join(SOURCE, 'index.html'), 'utf8')
  .replace('assets/app.js', `assets/${script}`)
  .replace('assets/app.css', `assets/${style}`)
  .replace('assets/favicon.svg', `assets/${icon}`);
writeFileSync(join(TARGET, 'index.html'), page);

/** Returns the name of the file. */
function write(name, text) {
  mkdirSync(TARGET, { recursive: true });
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8);
  const extension = extname(name);
  const hashed = `${name.slice(0, -extension.length)}-${hash}${extension}`;
  writeFileSync(join(TARGET, hashed), text);
  return hashed;
}

/** The style sheets in the order of their names, without comments and needless space. */
function styleSheet() {
  const directory = join(SOURCE, 'style');
  return readdirSync(directory)
    .sort()
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('\n')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(/: (?=[^{}]*[;}])/g, ':')
    .replaceAll(';}', '}')
    .trim();
}
