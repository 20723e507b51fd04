import { Problem } from './problem.ts';

/** Refuses a `Host` that is not this server's: a page whose name was bound to our address would reach us under it. */
export function refuseHost(request: Request, hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return;
  const { hostname } = new URL(request.url);
  const host = hostOf(request.headers.get('host')) ?? hostname;
  if (!hosts.includes(host)) throw new Problem('wrong_host');
}

/**
 * Refuses a write that a browser sends for a page of another site: the credentials that it adds by itself prove no
 * consent.
 */
export function refuseForeign({ headers, url }: Request): void {
  // No browser adds a bearer by itself, as it does a cookie or a password.
  if (/^bearer /i.test(headers.get('authorization') ?? '')) return;
  if (headers.get('sec-fetch-site') === 'same-origin') return;
  const origin = headers.get('origin');
  const host = headers.get('host') ?? new URL(url).host;
  if (
    !headers.has('sec-fetch-site') &&
    origin !== null &&
    URL.canParse(origin) &&
    new URL(origin).host === host
  )
    return;
  throw new Problem('cross_site');
}

function hostOf(header: string | null): string | undefined {
  if (header === null) return undefined;
  return URL.canParse(`http://${header}`) ? new URL(`http://${header}`).hostname : '';
}
