import { open, readdir, realpath, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { MODULE_EXTENSIONS } from '../../lib/load-module.ts';

/** A file that handles a type. */
export interface HandlerFile {
  readonly path: string;
  /**
   * Why it cannot be used: `duplicate_handler` if another file handles the type as well, `handler_outside` for a link
   * that leads out of the directory, `handler_broken_link` for a broken one, `handler_not_executable` for a program
   * without an x bit.
   */
  readonly fault?: TaskqError;
}

/**
 * Find the handler files of a directory, by type. `send-email.ts` handles `send-email`, `billing/charge.ts` handles
 * `billing/charge`, and a program that starts with `#!`, `thumbnail.py`, handles `thumbnail`. Names that start with `_`
 * or `.`, tests, type declarations, node_modules, and files that are neither a module nor a program are skipped.
 *
 * Returns an empty map if the directory does not exist. Throws `no_handlers` if it is a file. A faulty file is returned
 * with its fault, which matters only to callers that need this type.
 */
export async function findHandlerFiles(directory: string): Promise<Map<string, HandlerFile>> {
  const found = new Map<string, HandlerFile>();
  const root = await realpath(directory).catch(() => undefined);
  if (root !== undefined) {
    if (!(await stat(root)).isDirectory()) throw noDirectory(directory);
    await search(root, root, found, new Set());
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function noDirectory(path: string): TaskqError {
  return new TaskqError('no_handlers', `${path} is a file, not the handlers' directory`, {
    hint: '--handlers expects the directory of the file',
  });
}

/** `seen` holds the real directories on the way here, so that a loop of links ends. */
async function search(
  root: string,
  directory: string,
  found: Map<string, HandlerFile>,
  seen: ReadonlySet<string>,
): Promise<void> {
  for (const { name } of await readdir(directory, { withFileTypes: true })) {
    if (isSkipped(name)) continue;
    const path = join(directory, name);
    const real = await realpath(path).catch((error: unknown) => brokenLink(path, error));
    if (real instanceof TaskqError) {
      add(found, root, { path, fault: real });
    } else if (real !== root && !real.startsWith(root + sep)) {
      add(found, root, { path, fault: outside(path, real) });
    } else {
      const about = await stat(real);
      if (about.isDirectory()) {
        if (!seen.has(real)) await search(root, path, found, new Set([...seen, real]));
      } else if (about.isFile()) {
        if (isModule(name)) add(found, root, { path });
        else if (await startsAsProgram(path))
          add(found, root, (about.mode & 0o111) === 0 ? { path, fault: notExecutable(path) } : { path });
      }
    }
  }
}

/** Whether a file is loaded into a process of ours, by its name; other handlers are programs. */
export function isModule(path: string): boolean {
  return MODULE_EXTENSIONS.some((extension) => path.endsWith(extension));
}

async function startsAsProgram(path: string): Promise<boolean> {
  const file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2)).finally(() => file.close());
  return buffer.toString('latin1', 0, bytesRead) === '#!';
}

function add(found: Map<string, HandlerFile>, root: string, file: HandlerFile): void {
  const type = typeOf(root, file.path);
  const other = found.get(type);
  found.set(
    type,
    other === undefined ? file : { path: file.path, fault: duplicate(type, other.path, file.path) },
  );
}

function notExecutable(path: string): TaskqError {
  return new TaskqError('handler_not_executable', `${path} starts with #! but is not executable`, {
    hint: `chmod +x ${path}, or start its name with _ if it is not a handler`,
  });
}

function duplicate(type: string, path: string, other: string): TaskqError {
  return new TaskqError('duplicate_handler', `two files handle ${type}: ${path} and ${other}`, {
    hint: 'rename or remove one',
  });
}

function brokenLink(path: string, cause: unknown): TaskqError {
  return new TaskqError('handler_broken_link', `${path} is a broken link`, { cause });
}

function outside(path: string, real: string): TaskqError {
  return new TaskqError('handler_outside', `${path} links out of the handlers' directory, to ${real}`, {
    hint: 'put the file itself into the directory',
  });
}

function isSkipped(name: string): boolean {
  return (
    /^[._]/.test(name) || name === 'node_modules' || /\.(test|spec)\.[cm]?[jt]s$|\.d\.[cm]?ts$/.test(name)
  );
}

function typeOf(root: string, path: string): string {
  const name = relative(root, path).split(sep).join('/');
  return name.slice(0, name.length - extname(name).length);
}
