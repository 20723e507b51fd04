/** By option, as the library and the lines of a file have it: its values of each type of JSON that it does not have. */
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
  ['tags', 'x', 5, true, ['x']],
  ['retention', 7, true, ['7d'], { a: 1 }],
  ['backoff', 5, true, ['fixed']],
  ['traceparent', 5, true, ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'], { a: 1 }],
  ['type', 5, true, ['work'], { a: 1 }],
];

/** How a refusal begins that names what the option is of, the option, what was given and what is expected. */
export function refusedAs(of: string, option: string, value: unknown): RegExp {
  const named = `${of}${option} ${JSON.stringify(value).slice(0, 60)}: `;
  return new RegExp(`^${named.replaceAll(/[{}[\]"().]/g, '\\$&')}.*expected `);
}
