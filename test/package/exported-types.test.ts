import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';

const DIST = join(REPOSITORY, 'dist');
const ENTRIES = ['index.d.ts', 'testing.d.ts', 'serve.d.ts'];

/** A declaration file as the compiler writes it: each declaration and each import begins a line. */
interface Declared {
  /** The file and the name there of what is imported, by its name here. */
  readonly imports: ReadonlyMap<string, string>;
  /** The text of what is declared here, by name. */
  readonly declarations: ReadonlyMap<string, string>;
  /** `file#name` of what is exported from elsewhere, or here. */
  readonly exported: readonly string[];
}

function readDeclared(file: string): Declared {
  const text = readFileSync(join(DIST, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  const from = (path: string) => join(dirname(file), path).replace(/(?:\.d)?\.[jt]s$/, '.d.ts');
  const imports = new Map<string, string>();
  const exported: string[] = [];
  for (const [, verb, names, path] of text.matchAll(
    /^(import|export) (?:type )?\{([^}]*)\} from '(\.[^']+)';/gm,
  )) {
    for (const named of names!.split(',').map((name) => name.trim().replace(/^type /, ''))) {
      if (named === '') continue;
      const [name, alias = name] = named.split(' as ');
      if (verb === 'import') imports.set(alias!, `${from(path!)}#${name}`);
      else exported.push(`${from(path!)}#${name}`);
    }
  }
  const declarations = new Map<string, string>();
  const start = /^(export )?(?:declare )?(?:abstract )?(interface|type|class|function|const) (\w+)/gm;
  const starts = [...text.matchAll(start)];
  starts.forEach((match, n) => {
    const [, isExported, kind, name] = match;
    if (kind === 'const') return;
    const body = text.slice(match.index, starts[n + 1]?.index);
    declarations.set(name!, `${declarations.get(name!) ?? ''}${body}`);
    if (isExported !== undefined) exported.push(`${file}#${name}`);
  });
  return { imports, declarations, exported };
}

/** What an application reads of a declaration: not its private members, and not its texts. */
function publicPart(declaration: string): string {
  return declaration
    .replaceAll(/^ {4}(?:#private|private .*);$/gm, '')
    .replaceAll(/'(?:[^'\\]|\\.)*'/g, "''");
}

/** `file#name` of all that a declaration names of this project. */
function namedBy(id: string): string[] {
  const [file, name] = id.split('#') as [string, string];
  const { imports, declarations } = readDeclared(file);
  const names = new Set(publicPart(declarations.get(name) ?? '').match(/\b[A-Za-z_]\w*\b/g));
  return [...names].flatMap((other) => {
    if (other === name) return [];
    if (imports.has(other)) return imports.get(other)!;
    return /^[A-Z]/.test(other) && declarations.has(other) ? `${file}#${other}` : [];
  });
}

/** Compute types that are exported, or are named by a constructor that only we call; no application needs their names. */
const COMPUTING = [
  'config/settings.d.ts#SettingField',
  'config/settings.d.ts#Settings',
  'domain/handler-map.d.ts#MappedHandler',
  'domain/handler-map.d.ts#ParameterOf',
  'domain/handler-map.d.ts#RunFunction',
  'domain/handler-map.d.ts#StoredProperty',
  'library/task-queue-options.d.ts#EnqueueArguments',
  'library/task-queue-options.d.ts#IsOptional',
  'library/task-queue-options.d.ts#PayloadPart',
];

test('every type that a public signature names is exported by the package', () => {
  const exported = new Set(ENTRIES.flatMap((entry) => readDeclared(entry).exported));
  expect(exported.size).toBeGreaterThan(50);
  const named = [...exported].flatMap((id) => namedBy(id).map((other) => ({ other, by: id.split('#')[1] })));
  const missing = named.filter(({ other }) => !exported.has(other));
  const unknown = missing.filter(({ other }) => !COMPUTING.includes(other));
  expect(unknown.map(({ other, by }) => `${other} (in ${by})`).join('\n')).toBe('');
  expect(COMPUTING.filter((id) => !missing.some(({ other }) => other === id))).toEqual([]);
});
