import { resolve } from 'node:path';
import { cosmiconfig, defaultLoaders } from 'cosmiconfig';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { loadModule } from '../lib/load-module.ts';

export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  /** What it holds, unchecked. */
  readonly content: unknown;
}

export interface ConfigPlace {
  readonly cwd: string;
  /** A file asked for by name; none is looked for then. */
  readonly configPath?: string | undefined;
}

/**
 * Read the configuration file asked for, else the first one found from `cwd` upwards to the nearest package.json.
 * Null when there is none. Throws TaskqError when one cannot be read, naming it.
 */
export async function findConfigFile({ cwd, configPath }: ConfigPlace): Promise<ConfigFile | null> {
  const asked = configPath === undefined ? undefined : resolve(cwd, configPath);
  const explorer = cosmiconfig('taskq', {
    searchPlaces: SEARCH_PLACES,
    searchStrategy: 'project',
    cache: false,
    loaders: LOADERS,
  });
  try {
    const found = await (asked === undefined ? explorer.search(cwd) : explorer.load(asked));
    if (found === null) return null;
    return { path: found.filepath, content: found.isEmpty === true ? {} : found.config };
  } catch (error) {
    throw unreadable(error, asked);
  }
}

/** package.json first: cosmiconfig looks into that of the working directory before all others whatever we say. */
export const SEARCH_PLACES = [
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

/** cosmiconfig's own for TypeScript needs a JavaScript API that TypeScript 7 does not have. */
const LOADERS = {
  '.ts': loadDefault,
  '.mts': loadDefault,
  '.cts': loadDefault,
  '.js': loadDefault,
  '.mjs': loadDefault,
  '.cjs': loadDefault,
  '.json': (_path: string, text: string) => parseJson(text),
  '.yaml': defaultLoaders['.yaml'],
  '.yml': defaultLoaders['.yml'],
  noExt: defaultLoaders.noExt,
};

/** A file without a default export gives undefined, which cosmiconfig takes for an empty file. */
async function loadDefault(path: string): Promise<unknown> {
  const { default: content } = await loadModule(path);
  if (content !== undefined) return content;
  throw new TaskqError('bad_config', `${path}: expected a default export`, { exitCode: EXIT.usage });
}

function unreadable(error: unknown, asked: string | undefined): unknown {
  if (!(error instanceof Error)) return error;
  const { filepath, code } = error as Error & { filepath?: string; code?: unknown };
  const path = filepath ?? asked;
  if (path === undefined || (error instanceof TaskqError && error.message.startsWith(path))) return error;
  const reason = code === 'ENOENT' ? 'no such file' : firstLinesOf(error.message);
  return new TaskqError('bad_config', `${path}: ${reason}`, { exitCode: EXIT.usage, cause: error });
}

/** cosmiconfig's YAML loader begins with the file's name; the second line has the reason. */
function firstLinesOf(message: string): string {
  const [first = '', second = ''] = message.split('\n');
  return first.startsWith('YAML Error in ') ? `invalid YAML: ${second}` : first;
}
