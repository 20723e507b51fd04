import type { MessagePort } from 'node:worker_threads';
import { freshUrl } from './fresh-url.ts';

/* Resolves modules where Node has hooks only in a separate thread (before 22.15); see FreshModules. */

export interface HookData {
  /** [0]: the current generation. */
  readonly generation: Int32Array;
  /** Receives the URL of every file loaded in a generation. */
  readonly files: MessagePort;
}

interface Found {
  readonly url: string;
}

let data: HookData;

export function initialize(given: HookData): void {
  data = given;
}

export async function resolve<Context extends { readonly parentURL?: string }>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => Promise<Found>,
): Promise<Found> {
  const found = await next(specifier, context);
  const url = freshUrl(found.url, context.parentURL, Atomics.load(data.generation, 0));
  if (url === undefined) return found;
  data.files.postMessage(found.url);
  return { ...found, url };
}
