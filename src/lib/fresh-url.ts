/** The compiled files of this package: they are loaded once, whatever is loaded anew. */
const OWN = new URL('..', import.meta.url).href;

/**
 * The URL under which a module is loaded in a generation: Node keeps a module for good by its URL, so another query
 * is another module. What a module of a generation imports belongs to the same one, also when it does so later.
 * Undefined: the module is loaded once, because it is a package's or our own.
 */
export function freshUrl(url: string, parentUrl: string | undefined, current: number): string | undefined {
  if (!url.startsWith('file:') || url.includes('/node_modules/') || url.startsWith(OWN)) return undefined;
  const fresh = new URL(url);
  fresh.searchParams.set(QUERY, generationOf(parentUrl) ?? String(current));
  return fresh.href;
}

const QUERY = 'taskq';

function generationOf(url: string | undefined): string | null {
  return url !== undefined && URL.canParse(url) ? new URL(url).searchParams.get(QUERY) : null;
}
