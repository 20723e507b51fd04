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
  read ??= readAssets(join(packageRoot(), 'dist/bundled/ui')).catch((error: unknown) => {
    read = undefined;
    throw error;
  });
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

/**
 * Returns an answer with a file of the pages as gzip, if the client takes it, and any other as it is. Only for `taskq
 * serve`: a framework that mounts our server compresses by itself, and Next drops the header that marks the
 * compression.
 */
export async function zipped(request: Request, response: Response): Promise<Response> {
  const etag = response.headers.get('etag');
  const takesGzip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
  if (etag === null || !takesGzip || response.status !== 200) return response;
  const file = [...(await assets()).values()].find((one) => one.etag === etag);
  if (file === undefined) return response;
  const headers = new Headers(response.headers);
  headers.set('content-encoding', 'gzip');
  return new Response(file.gzipped, { headers });
}
