import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT, TaskqError } from './errors.ts';

/**
 * Load the exports of a JavaScript or TypeScript file; `module.exports` is found under `default`.
 * Throws TaskqError `module_not_loaded`, which names the file and has the file's own error as its cause.
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
    case '.mjs':
    case '.cjs':
      return import(pathToFileURL(file).href);
    case '.ts':
    case '.mts':
    case '.cts':
      return loadTypeScript(file);
    default:
      throw notLoaded(file, `expected a file that ends in ${MODULE_EXTENSIONS.join(', ')}`);
  }
}

async function loadTypeScript(file: string): Promise<Record<string, unknown>> {
  // Lazily: it costs every command of the binary that meets no TypeScript.
  const { createJiti } = await import('jiti');
  // Without fsCache: its default is a directory in /tmp with names anyone can guess and fill with code.
  const jiti = createJiti(pathToFileURL(file).href, { fsCache: false, interopDefault: false });
  const loaded = await jiti.import<Record<string, unknown>>(file);
  // A CommonJS file gives its `module.exports` bare, where `import()` would give `{ default }`.
  return isNamespace(loaded) ? loaded : { default: loaded };
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
  return new TaskqError('module_not_loaded', `${file}: ${reason}`, { exitCode: EXIT.usage, cause });
}
