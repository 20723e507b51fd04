import pg from 'pg';

/**
 * How the driver reads values, with another parser of JSON. In a file of its own: applications see the types of
 * database.ts, and may not have `@types/pg`.
 */
export function typesWith(parseJson: (text: string) => unknown): pg.CustomTypesConfig {
  const json: readonly number[] = [pg.types.builtins.JSON, pg.types.builtins.JSONB];
  const getTypeParser = (id: number, format: 'text' | 'binary') =>
    json.includes(id) ? parseJson : pg.types.getTypeParser(id, format);
  return { getTypeParser: getTypeParser as typeof pg.types.getTypeParser };
}
