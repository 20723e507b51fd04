import { lstat, readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { loadModule } from '../lib/load-module.ts';

export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  /** Its content, unchecked. */
  readonly content: unknown;
}

export interface ConfigPlace {
  readonly cwd: string;
  /** Reads this file instead of searching for one. */
  readonly configPath?: string | undefined;
}

/**
 * Reads the requested configuration file, or else the first one found from `cwd` upwards to the nearest package.json.
 * Returns null if there is none. Throws TaskqError, which names the file, if one cannot be read.
 */
export async function findConfigFile({ cwd, configPath }: ConfigPlace): Promise<ConfigFile | null> {
  if (configPath !== undefined) return read(resolve(cwd, configPath));
  for await (const path of candidates(cwd)) {
    const found = await read(path);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Yields the files that may hold the configuration, nearest first. Does not use cosmiconfig's search, which skips
 * unreadable files: their settings would be missing without an error.
 */
async function* candidates(cwd: string): AsyncGenerator<string> {
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    for (const place of SEARCH_PLACES) {
      const path = join(directory, place);
      if (await isThere(path)) yield path;
    }
    if (directory === dirname(directory) || (await isThere(join(directory, 'package.json')))) return;
  }
}

/** Whether the path exists, even as a dangling link. */
const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Null for a package.json without a `taskq` key. */
async function read(path: string): Promise<ConfigFile | null> {
  try {
    return basename(path) === 'package.json' ? await readPackage(path) : await readOurs(path);
  } catch (error) {
    throw unreadable(error, path);
  }
}

/** Nearly every command finds one, usually without our key, and loading cosmiconfig is a tenth of a worker's start. */
async function readPackage(path: string): Promise<ConfigFile | null> {
  const content = parseJson(await readFile(path, 'utf8')) as { readonly taskq?: unknown } | null;
  const ours = content?.taskq ?? null;
  return ours === null ? null : { path, content: ours };
}

async function readOurs(path: string): Promise<ConfigFile | null> {
  const { cosmiconfig, defaultLoaders } = await import('cosmiconfig');
  const loaders = { ...defaultLoaders, ...LOADERS };
  const found = await cosmiconfig('taskq', { cache: false, loaders }).load(path);
  return found && { path, content: found.isEmpty === true ? {} : found.config };
}

const SEARCH_PLACES = [
  'package.json',
  'taskq.config.ts',
  'taskq.config.js',
  'taskq.config.mjs',
  'taskq.config.cjs',
  'taskq.config.json',
  'taskq.config.yaml',
  '.taskqrc',
  '.taskqrc.json',
  '.taskqrc.yaml',
  '.taskqrc.yml',
];

/** cosmiconfig's own TypeScript loader needs a JavaScript API that TypeScript 7 lacks. */
const LOADERS = {
  '.ts': loadDefault,
  '.mts': loadDefault,
  '.cts': loadDefault,
  '.js': loadDefault,
  '.mjs': loadDefault,
  '.cjs': loadDefault,
  '.json': (_path: string, text: string) => parseJson(text),
};

/** Throws for a file without a default export: cosmiconfig would treat undefined as an empty file. */
async function loadDefault(path: string): Promise<unknown> {
  const { default: content } = await loadModule(path);
  if (content !== undefined) return content;
  throw new TaskqError('bad_config', `${path}: expected a default export`);
}

function unreadable(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof TaskqError && error.message.startsWith(path)) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = REASONS[code] ?? firstLinesOf(error.message);
  return new TaskqError('bad_config', `${path}: ${reason}`, { cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
};

/** cosmiconfig's YAML error begins with the file's name; its second line has the reason. */
function firstLinesOf(message: string): string {
  const [first = '', second = ''] = message.split('\n');
  return first.startsWith('YAML Error in ') ? `invalid YAML: ${second}` : first;
}
