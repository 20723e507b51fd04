import { accessSync, constants } from 'node:fs';
import { TaskqError } from './errors.ts';
import { redactUrl } from './redact-url.ts';

/**
 * Returns `url` if it is a database URL, whose files for TLS can be read. Throws TaskqError (exit code 2), which calls it
 * `what` and hides its password.
 */
export function checkedUrl(what: string, url: string): string {
  // pg takes any text for the name of a database on a host `base`. A Unix socket's URL has an empty host, which `URL`
  // refuses.
  const parsable = url.replace('@/', '@socket/');
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(parsable)) {
    checkFiles(what, url, new URL(parsable).searchParams);
    return url;
  }
  const shown = /:\/\//.test(url) ? redactUrl(url) : '***';
  throw new TaskqError('bad_setting', `${what} ${shown}: expected a URL of PostgreSQL`, {
    hint: 'such as postgres://user@host:5432/database; write special characters in the password as %XX',
  });
}

/** Check here: the driver would read them at connect, and fail with an error of the file system. */
function checkFiles(what: string, url: string, parameters: URLSearchParams): void {
  for (const name of ['sslcert', 'sslkey', 'sslrootcert']) {
    const path = parameters.get(name);
    if (path === null || path === '') continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new TaskqError('bad_setting', `${what} ${redactUrl(url)}: cannot read ${name} (${code})`, {
        cause: error,
      });
    }
  }
}
