import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { packageRoot } from '../lib/package-root.ts';

/** A file of the web pages, as it is sent. */
export interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly gzipped: Buffer<ArrayBuffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

let read: Promise<ReadonlyMap<string, Asset>> | undefined;

/** Returns the files of the web pages by their names. They are read once in a process. */
export function assets(): Promise<ReadonlyMap<string, Asset>> {
  read ??= readAssets(join(packageRoot(), 'dist/bundled/ui'));
  return read;
}

async function readAssets(directory: string): Promise<ReadonlyMap<string, Asset>> {
  const names = await readdir(directory);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readAsset(directory, name)] as const)),
  );
}

async function readAsset(directory: string, name: string): Promise<Asset> {
  const bytes = await readFile(join(directory, name));
  const hash = createHash('sha256').update(bytes).digest('base64url');
  return { type: TYPES[extname(name)]!, etag: `"${hash}"`, bytes, gzipped: await promisify(gzip)(bytes) };
}
