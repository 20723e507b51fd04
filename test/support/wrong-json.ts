/** Per option, named as in the library and in a file's lines: values of the JSON types it does not accept. */
export const WRONG_JSON: readonly (readonly [option: string, ...values: unknown[]])[] = [
  ['queue', 5, true, ['x'], { a: 1 }],
  ['priority', true, [3], { a: 1 }],
  ['delay', true, ['5s'], { a: 1 }],
  ['at', 20_300_101, true, ['2030-01-31T09:00:00Z'], { a: 1 }],
  ['maxAttempts', '5', true, [5], { a: 1 }],
  ['timeout', true, ['5s'], { a: 1 }],
  ['expires', true, ['5s'], { a: 1 }],
  ['key', 5, true, ['x'], { a: 1 }],
  ['keyFor', true, ['live'], { a: 1 }],
  ['onHeld', true, 1, ['replace'], { a: 1 }],
  ['tags', 'x', 5, true, ['x']],
  ['retention', 7, true, ['7d'], { a: 1 }],
  ['backoff', 5, true, ['fixed']],
  ['traceparent', 5, true, ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'], { a: 1 }],
  ['type', 5, true, ['work'], { a: 1 }],
];

/** Returns a pattern for the start of a refusal that names the item, the option, the value and what is expected. */
export function refusedAs(of: string, option: string, value: unknown): RegExp {
  const named = `${of}${option} ${JSON.stringify(value).slice(0, 60)}: `;
  return new RegExp(`^${named.replaceAll(/[{}[\]"().]/g, '\\$&')}.*expected `);
}
