/** The cookie of a browser whose user has signed in with a token. */
export const TOKEN_COOKIE = 'taskq_token';
/** The cookie of the browser that a login link has let in. */
export const SESSION_COOKIE = 'taskq_session';

/** Returns a cookie of a request. */
export function cookieOf(headers: Headers, name: string): string | undefined {
  return new RegExp(`(?:^|; *)${name}=([\\w-]+)`).exec(headers.get('cookie') ?? '')?.[1];
}

/**
 * Returns the header that sets a cookie, or removes it (value null). It has no path, so it holds below that of the
 * request as the browser sees it, also where a proxy has changed it.
 */
export function sessionCookie(name: string, value: string | null, isSecure: boolean): string {
  const age = value === null ? '; Max-Age=0' : '';
  return `${name}=${value ?? ''}; HttpOnly; SameSite=Strict${age}${isSecure ? '; Secure' : ''}`;
}
