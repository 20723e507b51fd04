// Joins what tsc has built, dist/, into few files, dist/bundled/: to load three hundred small ones costs a process more
// than to run them. The entries share chunks, so that a class exists once in a process.
import { cpSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'rolldown';

const isPackage = (id) => /^[^./\0]/.test(id);

/** Commander is bundled: --help consists of it. Its `child_process` is for subcommands that are programs. */
const isBundled = (id) => id === 'commander';
const isUnused = (id, importer) =>
  id === 'node:child_process' && importer?.includes('/node_modules/commander/');
const withoutUnused = {
  name: 'without-unused',
  resolveId: (id, importer) => (isUnused(id, importer) ? '\0unused' : undefined),
  load: (id) => (id === '\0unused' ? 'export {};' : undefined),
};

/**
 * Packages in CommonJS are required, not imported: for an import, Node searches their text for the names that they
 * export, which is a fifth of what starting a worker costs.
 */
const IN_COMMON_JS = ['cosmiconfig', 'pg', 'picocolors', 'pino', 'postgres-migrations'];
const isRequired = (id, importer) => IN_COMMON_JS.includes(id) && !importer?.startsWith('\0');
const required = {
  name: 'required',
  resolveId: (id, importer) => (isRequired(id, importer) ? `\0${id}` : undefined),
  load: (id) => (isRequired(id.slice(1)) ? textOf(id.slice(1)) : undefined),
};

/**
 * pg finds out whether it runs at Cloudflare: by `navigator`, or else by a Response, for which Node loads undici. Node 20
 * has no `navigator`, and loading undici takes it half as long as all of pg, in each thread.
 */
function textOf(name) {
  const text = `module.exports = require('${name}');`;
  if (name !== 'pg') return text;
  return `if (typeof navigator === 'object') ${text} else {
    globalThis.navigator = { userAgent: 'Node.js' };
    try { ${text} } finally { delete globalThis.navigator; }
  }`;
}

const isExternal = (id, importer) =>
  isPackage(id) && !isBundled(id) && !isUnused(id, importer) && !isRequired(id, importer);
const commanderLicense = readFileSync('node_modules/commander/LICENSE', 'utf8');

// No comment before each part that names its file: 20 kB of the package.
const experimental = { attachDebugInfo: 'none' };

// The comments are in the repository.
const output = { dir: 'dist/bundled', chunkFileNames: '[name].js', comments: { jsdoc: false } };

await build({
  logLevel: 'silent',
  input: {
    main: 'dist/cli/main.js',
    index: 'dist/index.js',
    testing: 'dist/testing.js',
    serve: 'dist/serve.js',
    child: 'dist/worker/isolation/child.js',
  },
  platform: 'node',
  external: isExternal,
  experimental,
  plugins: [withoutUnused, required],
  output: {
    ...output,
    banner: ({ name }) => (name === 'program' ? `/*! Contains commander. ${commanderLicense}*/` : ''),
    codeSplitting: {
      // Each with all that its modules import, except what is in an earlier one.
      groups: [
        { name: 'private-cache', test: /\/lib\/(private-cache|user-paths)\.js/, priority: 8 },
        { name: 'base', test: /\/lib\/(errors|package-root)\.js/, priority: 7 },
        { name: 'program', test: /\/cli\/program\.js|\/commander\//, priority: 6 },
        {
          name: 'library',
          test: /\/dist\/index\.js|\/lib\/(after|backing-off|wakeup|exact-json)\.js|\/get-ends\.js/,
          priority: 5,
        },
        { name: 'handlers', test: /\/handlers\/load-handlers\.js|\/lib\/load-module\.js/, priority: 4 },
        {
          name: 'attempt',
          test: /\/attempt\/(attempt|context|handler-transactions|run-inline|uncaught-errors)\.js/,
          priority: 3,
        },
        { name: 'connection', test: /\/library\/open-connection\.js/, priority: 2 },
        { name: 'worker', test: /\/worker\/run-worker\.js/, priority: 1 },
      ],
    },
  },
});

// A thread shares no class with others: its file has all that it needs.
for (const [name, file] of Object.entries({
  'heartbeat-thread': 'dist/worker/heartbeat/heartbeat-thread.js',
  'parent-thread': 'dist/worker/isolation/parent-thread.js',
  'fresh-modules-thread': 'dist/lib/fresh-modules-thread.js',
})) {
  await build({
    logLevel: 'silent',
    input: { [name]: file },
    platform: 'node',
    external: isExternal,
    experimental,
    plugins: [required],
    output: { ...output, codeSplitting: false },
  });
}

// What the compiler of an application reads: the declarations of the entries, and those that they import.
const declarations = new Set(['index.d.ts', 'testing.d.ts', 'serve.d.ts']);
for (const file of declarations) {
  cpSync(join('dist', file), join('dist/types', file));
  const imported = readFileSync(join('dist', file), 'utf8').matchAll(
    /(?:from|import)\(? ?['"](\.[^'"]+)['"]/g,
  );
  for (const [, from] of imported) declarations.add(join(dirname(file), from).replace(/\.[jt]s$/, '.d.ts'));
}
