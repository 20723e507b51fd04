import { existsSync, readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Jiti } from 'jiti';
import { TaskqError } from './errors.ts';
import { declaredSyntaxOf, type Syntax, syntaxOf } from './module-syntax.ts';
import { privateCache } from './private-cache.ts';
import { messageOf } from './thrown.ts';

/**
 * Loads the exports of a JavaScript or TypeScript file; `module.exports` is under `default`. A `.js` file may have
 * either syntax, whatever `type` its package.json declares. Throws TaskqError `module_not_loaded`, which names the file
 * and has the file's own error as its cause.
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

/** File extensions that `loadModule` reads. */
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

/** Prefers Node if it reads the file's syntax correctly: no translation, and true positions in a debugger. */
function loadEither(file: string): Promise<Record<string, unknown>> {
  const declared = declaredSyntaxOf(file);
  const written = declared === undefined ? undefined : syntaxOf(readFileSync(file, 'utf8'));
  if (written === undefined || written === declared) return import(pathToFileURL(file).href);
  return translate(file, written);
}

async function translate(file: string, syntax: Syntax): Promise<Record<string, unknown>> {
  // Imported lazily: it would slow every command that needs no translation.
  const { createJiti } = await import('jiti');
  const jiti = jitiFor(createJiti, file);
  const loaded = await (syntax === 'module' ? jiti.import<Record<string, unknown>>(file) : jiti(file));
  // jiti returns a CommonJS file's bare `module.exports`, where `import()` returns `{ default }`.
  return isNamespace(loaded) ? loaded : { default: loaded };
}

function jitiFor(createJiti: typeof import('jiti').createJiti, file: string): Jiti {
  const parent = pathToFileURL(file).href;
  // Not jiti's own choice, a directory in /tmp with guessable names, where anyone can plant code.
  const options = { fsCache: privateCache('modules') ?? false, interopDefault: false };
  try {
    return createJiti(parent, { ...options, tsconfigPaths: true });
  } catch {
    // An unreadable tsconfig.json may extend a package that is installed for development only.
    return createJiti(parent, options);
  }
}

function isNamespace(loaded: unknown): loaded is Record<string, unknown> {
  if (typeof loaded !== 'object' || loaded === null) return false;
  return '__esModule' in loaded || Object.prototype.toString.call(loaded) === '[object Module]';
}

function reasonOf(error: unknown, file: string): string {
  if (!existsSync(file)) return 'no such file';
  if (!(error instanceof Error)) return messageOf(error);
  return `${error.message.trim()}${lineOf(error, file)}`.replaceAll(/\s*\n\s*/g, ' ');
}

/**
 * Node leaves the line of a syntax error out of the message: it is at the top of the stack in CommonJS, nowhere in ESM.
 */
function lineOf(error: Error, file: string): string {
  if (error.name !== 'SyntaxError') return '';
  const first = error.stack?.split('\n', 1)[0] ?? '';
  const line = first.startsWith(file) ? /:(\d+)$/.exec(first)?.[1] : undefined;
  return line === undefined ? ` ("node ${file}" shows where)` : ` (line ${line})`;
}

function notLoaded(file: string, reason: string, cause?: unknown): TaskqError {
  const misses = /^Cannot find (?:package|module) 'taskq(?:\/testing)?'/.test(reason);
  return new TaskqError('module_not_loaded', `${file}: ${reason}`, {
    ...(misses && { hint: NOT_BESIDE }),
    cause,
  });
}

const NOT_BESIDE =
  "imports are resolved from the file's project, where a global installation is not found: run npm install taskq there";
