import { existsSync, readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Jiti } from 'jiti';
import { EXIT, TaskqError } from './errors.ts';
import { declaredSyntaxOf, type Syntax, syntaxOf } from './module-syntax.ts';

/**
 * Load the exports of a JavaScript or TypeScript file; `module.exports` is found under `default`. A `.js` file may be
 * written either way, whatever `type` its package.json declares. Throws TaskqError `module_not_loaded`, which names the
 * file and has the file's own error as its cause.
 */
export async function loadModule(path: string): Promise<Record<string, unknown>> {
  const file = resolve(path);
  try {
    return await load(file);
  } catch (error) {
    if (error instanceof TaskqError) throw error;
    throw notLoaded(file, reasonOf(error, file), error);
  }
}

/** What `loadModule` reads, by the end of the name. */
export const MODULE_EXTENSIONS = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts'] as const;

function load(file: string): Promise<Record<string, unknown>> {
  switch (extname(file)) {
    case '.js':
      return loadEither(file);
    case '.mjs':
    case '.cjs':
      return import(pathToFileURL(file).href);
    case '.ts':
    case '.mts':
    case '.cts':
      return translate(file, 'module');
    default:
      throw notLoaded(file, `expected a file that ends in ${MODULE_EXTENSIONS.join(', ')}`);
  }
}

/** By Node where it takes the file for what it is: at once, and with the file's own places in a debugger. */
function loadEither(file: string): Promise<Record<string, unknown>> {
  const declared = declaredSyntaxOf(file);
  const written = declared === undefined ? undefined : syntaxOf(readFileSync(file, 'utf8'));
  if (written === undefined || written === declared) return import(pathToFileURL(file).href);
  return translate(file, written);
}

async function translate(file: string, syntax: Syntax): Promise<Record<string, unknown>> {
  // Lazily: it costs every command of the binary that needs no translation.
  const { createJiti } = await import('jiti');
  const jiti = jitiFor(createJiti, file);
  const loaded = await (syntax === 'module' ? jiti.import<Record<string, unknown>>(file) : jiti(file));
  // A CommonJS file gives its `module.exports` bare, where `import()` would give `{ default }`.
  return isNamespace(loaded) ? loaded : { default: loaded };
}

function jitiFor(createJiti: typeof import('jiti').createJiti, file: string): Jiti {
  const parent = pathToFileURL(file).href;
  // Without fsCache: its default is a directory in /tmp with names anyone can guess and fill with code.
  const options = { fsCache: false, interopDefault: false };
  try {
    return createJiti(parent, { ...options, tsconfigPaths: true });
  } catch {
    // A tsconfig.json that cannot be read: it may extend a package that is installed for development alone.
    return createJiti(parent, options);
  }
}

function isNamespace(loaded: unknown): loaded is Record<string, unknown> {
  if (typeof loaded !== 'object' || loaded === null) return false;
  return '__esModule' in loaded || Object.prototype.toString.call(loaded) === '[object Module]';
}

function reasonOf(error: unknown, file: string): string {
  if (!existsSync(file)) return 'no such file';
  if (!(error instanceof Error)) return String(error);
  return `${error.message.trim()}${lineOf(error, file)}`.replaceAll(/\s*\n\s*/g, ' ');
}

/** Node keeps the line of a syntax error out of the message: at the top of the stack in CommonJS, nowhere in ESM. */
function lineOf(error: Error, file: string): string {
  if (error.name !== 'SyntaxError') return '';
  const first = error.stack?.split('\n', 1)[0] ?? '';
  const line = first.startsWith(file) ? /:(\d+)$/.exec(first)?.[1] : undefined;
  return line === undefined ? ` ("node ${file}" shows where)` : ` (line ${line})`;
}

function notLoaded(file: string, reason: string, cause?: unknown): TaskqError {
  const misses = /^Cannot find (?:package|module) 'taskq(?:\/testing)?'/.test(reason);
  return new TaskqError('module_not_loaded', `${file}: ${reason}`, {
    exitCode: EXIT.usage,
    ...(misses && { hint: NOT_BESIDE }),
    cause,
  });
}

const NOT_BESIDE =
  "imports are resolved from the file's project, where a global installation is not found: run npm install taskq there";
