import { TaskqError } from './errors.ts';
import { redactUrl } from './redact-url.ts';

/**
 * Returns `url` if it is a database URL. Throws TaskqError (exit code 2), which calls it `what` and hides its password.
 */
export function checkedUrl(what: string, url: string): string {
  // pg takes any text for the name of a database on a host `base`. A Unix socket's URL has an empty host, which `URL`
  // refuses.
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url.replace('@/', '@socket/'))) return url;
  const shown = /:\/\//.test(url) ? redactUrl(url) : '***';
  throw new TaskqError('bad_setting', `${what} ${shown}: expected a URL`, {
    hint: 'such as postgres://user@host:5432/database; write special characters in the password as %XX',
  });
}
