import { EXIT, TaskqError } from './errors.ts';
import { redactUrl } from './redact-url.ts';

/** Give a database's URL back if it is one. Throws TaskqError (exit 2), which calls it `what` and hides its password. */
export function checkedUrl(what: string, url: string): string {
  // pg takes any text for the name of a database on a host `base`. An empty host is what a Unix socket's URL has; the
  // parser of `URL` refuses it.
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url.replace('@/', '@socket/'))) return url;
  const shown = /:\/\//.test(url) ? redactUrl(url) : '***';
  throw new TaskqError('bad_setting', `${what} ${shown}: expected a URL`, {
    exitCode: EXIT.usage,
    hint: 'such as postgres://user@host:5432/database; write special characters in the password as %XX',
  });
}
