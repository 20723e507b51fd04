import * as node from 'node:module';
import { fileURLToPath } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import type { HookData } from './fresh-modules-thread.ts';
import { freshUrl } from './fresh-url.ts';

/**
 * Reloads modules with all they import except packages. Each `renew` begins a generation; modules loaded after it are
 * read from the files as they are then. Modules of earlier generations keep working for code that still runs them, and
 * stay in memory: this is for development. Create one per process: it hooks into Node's module resolution.
 */
export class FreshModules {
  /** Shared with the hooks' thread. */
  readonly #generation = new Int32Array(new SharedArrayBuffer(4));
  readonly #files = new Set<string>();

  constructor() {
    if ('registerHooks' in node) this.#hookHere(node.registerHooks as RegisterHooks);
    else this.#hookInThread();
  }

  /** Begins the next generation. */
  renew(): void {
    for (const path of this.#required()) delete cache[path];
    Atomics.add(this.#generation, 0, 1);
  }

  /** Returns every file loaded in any generation. */
  files(): ReadonlySet<string> {
    for (const path of this.#required()) this.#files.add(path);
    return this.#files;
  }

  /** Paths that `require` has cached, including modules translated from TypeScript. */
  #required(): string[] {
    return Object.keys(cache).filter((path) => !path.includes('/node_modules/'));
  }

  #hookHere(registerHooks: RegisterHooks): void {
    registerHooks({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context);
        const url = freshUrl(found.url, context.parentURL, this.#generation[0]!);
        if (url === undefined) return found;
        this.#files.add(fileURLToPath(found.url));
        return { ...found, url };
      },
    });
  }

  #hookInThread(): void {
    const { port1, port2 } = new MessageChannel();
    port1.on('message', (url: string) => this.#files.add(fileURLToPath(url)));
    port1.unref();
    const data: HookData = { generation: this.#generation, files: port2 };
    node.register('./fresh-modules-thread.js', { parentURL: import.meta.url, data, transferList: [port2] });
  }
}

const { cache } = node.createRequire(import.meta.url);

interface Found {
  readonly url: string;
}

interface Hooks {
  resolve(
    specifier: string,
    context: { readonly parentURL?: string },
    next: (specifier: string, context: object) => Found,
  ): Found;
}

/** Node 22.15 and later have it; the types of our oldest supported Node do not. */
type RegisterHooks = (hooks: Hooks) => unknown;
