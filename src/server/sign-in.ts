import { Problem } from './problem.ts';

/** Whether a client asked by https, perhaps through a proxy. */
export function isSecure({ url, headers }: Request): boolean {
  return new URL(url).protocol === 'https:' || headers.get('x-forwarded-proto') === 'https';
}

/** Whether the answer to an unknown caller is a page for people. */
export function asksToSignIn(error: unknown, { headers }: Request): error is Problem {
  return (
    error instanceof Problem &&
    error.code === 'unauthorized' &&
    (headers.get('accept') ?? '').includes('text/html')
  );
}

/** A form to sign in with a token, without a script or a style: an unknown caller gets no other file. */
export function signInPage(problem?: Problem): Response {
  const detail =
    problem?.details.more?.isGiven === true ? '<p role="alert">This token is not valid.</p>' : '';
  const headers = { ...problem?.headers, 'content-type': 'text/html; charset=utf-8' };
  return new Response(page(detail), { status: problem?.status ?? 200, headers });
}

function page(alert: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in to taskq</title>
</head>
<body>
<main>
<h1>taskq</h1>
${alert}
<form method="post" action="sign-in">
<p><label for="token">Token</label></p>
<p><input id="token" name="token" type="password" required autofocus autocomplete="current-password" size="50"></p>
<p><button>Sign in</button></p>
</form>
<p>An administrator makes one with <code>taskq tokens add</code>.</p>
</main>
</body>
</html>
`;
}
