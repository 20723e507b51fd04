import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationStep } from './migrate.ts';
import { readFunctions, SQL } from './schema-release.ts';

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
        ...(await readFunctions()).map(({ text }) => text),
        'revoke all on all functions in schema taskq from public;\n',
        'revoke all on all tables in schema taskq from public;\n',
      ].join('\n');
    case 'partitions':
      return '';
    default:
      return step satisfies never;
  }
}
