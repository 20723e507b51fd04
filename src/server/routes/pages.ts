import { type Asset, assets } from '../assets.ts';
import { callerOfToken } from '../authorised.ts';
import { SESSION_COOKIE, sessionCookie, TOKEN_COOKIE } from '../cookies.ts';
import { notFound, Problem } from '../problem.ts';
import type { AnswerDescription, Call, Route } from '../route.ts';
import { input, TEXT } from '../schema.ts';
import { signInPage } from '../sign-in.ts';

const HTML = { schema: TEXT, type: 'text/html; charset=utf-8' };
const AGAIN: Readonly<Record<303, AnswerDescription>> = {
  303: { description: 'The pages are at `./`', ...HTML },
};

const pages: Route = {
  method: 'GET',
  path: '/',
  isAtRoot: true,
  role: 'viewer',
  forBrowsers: true,
  summary: 'Show the web pages.',
  answers: { 200: { description: 'The page', ...HTML } },
  async handle({ headers }) {
    return sent(await assetOf('index.html'), headers, 'no-store');
  },
};

const asset: Route = {
  method: 'GET',
  path: '/assets/{file}',
  isAtRoot: true,
  role: 'viewer',
  forBrowsers: true,
  summary: 'Return a file of the web pages. Its name has a hash of its content.',
  answers: { 200: { description: 'The file', schema: TEXT, type: '*/*' } },
  async handle({ path, headers }) {
    return sent(await assetOf(path.file!), headers, 'private, max-age=31536000, immutable');
  },
};

const form: Route = {
  method: 'GET',
  path: '/sign-in',
  isAtRoot: true,
  role: 'viewer',
  forBrowsers: true,
  summary: 'Show a form to sign in with another token.',
  answers: { 200: { description: 'The form', ...HTML } },
  async handle() {
    return signInPage();
  },
};

const signIn: Route = {
  method: 'POST',
  path: '/sign-in',
  isAtRoot: true,
  role: 'open',
  forBrowsers: true,
  summary: 'Let a browser in by a valid token, which it keeps in a cookie until it ends.',
  body: input({ token: TEXT }),
  answers: AGAIN,
  async handle({ body, db, isSecure }) {
    const token = String(body.token ?? '').trim();
    if ((await callerOfToken(db, token)) === null)
      throw new Problem(
        'unauthorized',
        { detail: 'the token is not valid', more: { isGiven: true } },
        { 'www-authenticate': 'Bearer' },
      );
    return back([sessionCookie(TOKEN_COOKIE, token, isSecure)]);
  },
};

const signOut: Route = {
  method: 'POST',
  path: '/sign-out',
  isAtRoot: true,
  role: 'viewer',
  forBrowsers: true,
  summary: 'Remove the cookies of a browser.',
  body: input({}),
  answers: AGAIN,
  async handle({ isSecure }) {
    return back([TOKEN_COOKIE, SESSION_COOKIE].map((name) => sessionCookie(name, null, isSecure)));
  },
};

/** Throws Problem: there is no such file. */
async function assetOf(name: string): Promise<Asset> {
  const found = (await assets()).get(name);
  if (found === undefined) throw notFound('such file');
  return found;
}

function sent({ type, etag, bytes }: Asset, asked: Call['headers'], cacheControl: string): Response {
  const headers = { 'content-type': type, etag, vary: 'accept-encoding', 'cache-control': cacheControl };
  if (asked.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
  return new Response(bytes, { headers });
}

function back(cookies: readonly string[]): Response {
  const headers = new Headers({ location: './', 'content-type': HTML.type });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}

export const PAGES: readonly Route[] = [pages, asset, form, signIn, signOut];
