import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withLiterals } from '../../lib/literal.ts';
import type { MigrationStep } from './migrate.ts';
import {
  type Addition,
  commentOf,
  readAddition,
  readFunctions,
  readInstallation,
  SQL,
  type SqlFunction,
} from './schema-release.ts';

/** Get the SQL of a step of migrate, without the bookkeeping (the rows of taskq.migrations and taskq.release). */
export async function sqlOfStep({ step, name }: MigrationStep): Promise<string> {
  switch (step) {
    case 'schema':
      return `create schema if not exists ${name};\n`;
    case 'migration':
      return readFile(join(SQL, 'migrations', `${name}.sql`), 'utf8');
    case 'functions':
      return [
        'set local check_function_bodies = off;\n',
        ...(await readFunctions()).map(textOf),
        'revoke all on all functions in schema taskq from public;\n',
        'revoke all on all tables in schema taskq from public;\n',
      ].join('\n');
    case 'addition':
      return sqlOfAddition(name as Addition);
    case 'partitions':
      return '';
    default:
      return step satisfies never;
  }
}

function textOf(one: SqlFunction): string {
  const comment = commentOf(one);
  if (comment === null) return one.text;
  const kind = /^create or replace view /m.test(one.text) ? 'view' : 'function';
  return `${one.text}${withLiterals(`comment on ${kind} ${one.schema}.${one.name} is $1`, [comment])};\n`;
}

async function sqlOfAddition(addition: Addition): Promise<string> {
  const parts = await readAddition(addition);
  const schemas = [...new Set(parts.map(({ schema }) => schema))];
  return [
    schemas.map((schema) => `create schema if not exists ${schema};\n`).join(''),
    ...parts.map(textOf),
    schemas
      .map(
        (schema) =>
          `revoke all on all functions in schema ${schema} from public;\n` +
          `revoke all on all tables in schema ${schema} from public;\n`,
      )
      .join(''),
    await readInstallation(addition),
  ].join('\n');
}
