/**
 * What to say of a server whose autovacuum looks every so many seconds; null: nothing. Under load the live table is
 * small only where it looks often; the embedded server is set so.
 */
export function vacuumAdvice(naptimeSeconds: number): string | null {
  if (!(naptimeSeconds > 10)) return null;
  const why = 'with thousands of tasks a second the live table then stays small';
  return `advice: set autovacuum_naptime = '10s' on the server (it is ${naptimeSeconds}s); ${why}`;
}
