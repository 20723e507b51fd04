/** This package's compiled files are loaded only once. */
const OWN = new URL('..', import.meta.url).href;

/**
 * Returns the URL under which a module is loaded in a generation: Node caches a module for good by its URL, so another
 * query makes another module. A module's imports belong to its own generation, even if it imports them later. Returns
 * undefined for modules that are loaded only once: those of packages, and our own.
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
