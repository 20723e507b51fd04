/**
 * Returns a database URL or a key=value connection string without its password: `postgres://ann:***@host/db`. Works on
 * text alone, so that a malformed URL (a password with an unescaped `@`, `/`, `#` or `%`) is safe to print too. If in
 * doubt it hides more than the password, never less.
 */
export function redactUrl(text: string): string {
  return hideParameters(hideUserInfo(text));
}

const HIDDEN = '***';

/** `scheme://user:`, also without the scheme (a user may contain `@`, as Azure's do), or `user:` alone. */
const UP_TO_LAST_AT = /^(\s*(?:[a-z][a-z0-9+.-]*:)?\/\/[^:]*|[^:/?#@\s=]*(?=:(?!\/\/))):.*@/is;
/** Text after the host's colon that is not a port: most likely a password without its host. */
const NO_AT_NO_PORT = /^(\s*(?:[a-z][a-z0-9+.-]*:)?\/\/(?!\[)[^:/?#@\s]*):(?!\d*(?:[/?#\s]|$)).*$/is;

/**
 * The same after anything else, such as the quotes of an env file, or a name and `=`: up to the first colon except that
 * of `://`.
 */
const AFTER_ANYTHING = /^([^:]*:\/\/[^:]*|[^:]*(?!:\/\/)):.*@/s;
const NO_AT_AFTER_ANYTHING = /^([^:]*:\/\/(?!\[)[^:/?#@\s]*):(?!\d*(?:[/?#\s'"]|$)).*$/s;

function hideUserInfo(text: string): string {
  const query = /^([^?]*@[^?]*)(\?[\w.-]+=.*)$/s.exec(text);
  const head = query?.[1] ?? text;
  const tail = query?.[2] ?? '';
  const secret = UP_TO_LAST_AT.test(head) ? UP_TO_LAST_AT : AFTER_ANYTHING;
  // Apparent parameters may be the rest of the password.
  if (tail.includes('@') && secret.test(head)) return text.replace(secret, `$1:${HIDDEN}@`);
  if (head.includes('@')) return head.replace(secret, `$1:${HIDDEN}@`) + tail;
  return head.replace(NO_AT_NO_PORT.test(head) ? NO_AT_NO_PORT : NO_AT_AFTER_ANYTHING, `$1:${HIDDEN}`) + tail;
}

const SECRET = String.raw`\b(\w*(?:password|passwd|pwd))\s*=\s*`;
const IN_URL = new RegExp(`${SECRET}[^&]*`, 'gi');
const IN_PAIRS = new RegExp(String.raw`${SECRET}(?:'(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])*)`, 'gis');

function hideParameters(text: string): string {
  return text.replace(/:\/\//.test(text) ? IN_URL : IN_PAIRS, `$1=${HIDDEN}`);
}
