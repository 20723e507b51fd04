import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';

interface Packed {
  readonly files: readonly { readonly path: string }[];
  readonly unpackedSize: number;
}

const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');

/** The paths of all files in a directory. */
const below = (directory: string) =>
  readdirSync(join(REPOSITORY, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => relative(join(REPOSITORY, directory), join(parentPath, name)));

describe('the package', () => {
  let packed: Packed;
  let paths: readonly string[];

  beforeAll(() => {
    // Without its scripts: they build anew, and other tests run what is built.
    const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: REPOSITORY,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    [packed] = JSON.parse(said) as [Packed];
    paths = packed.files.map(({ path }) => path).sort();
  }, 300_000);

  test('has the bundled sources, their types, the SQL, the binary and what explains them, and nothing else', () => {
    const declared = below('dist/types').map((path) => `dist/types/${path}`);
    const bundled = below('dist/bundled').map((path) => `dist/bundled/${path}`);
    const sql = below('sql')
      .filter((path) => /\.(sql|json)$/.test(path))
      .map((path) => `sql/${path}`);
    const explained = ['docs', 'examples'].flatMap((directory) =>
      below(directory)
        // A server returns it, too.
        .filter((path) => path !== 'openapi.json')
        .map((path) => `${directory}/${path}`),
    );
    const others = [
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'bin/taskq.js', 'package.json'],
      'handlers/package.json',
      'bench/results/latest.svg', // which the README shows
      ...['_webhook', 'db_function', 'email', 'file_delete', 'http', 'sms'].map(
        (name) => `handlers/${name}.ts`,
      ),
    ];
    expect(paths).toEqual([...declared, ...bundled, ...sql, ...explained, ...others].sort());
  });

  test('has every declaration that those of its entry points import', () => {
    const reached = new Set<string>();
    const follow = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const [, from] of read(path).matchAll(/(?:from|import)\(? ?['"](\.[^'"]+)['"]/g))
        follow(join(dirname(path), from!).replace(/\.[jt]s$/, '.d.ts'));
    };
    for (const entry of ['index', 'testing', 'serve']) follow(`dist/types/${entry}.d.ts`);
    expect(reached.size).toBeGreaterThan(30);
    expect([...reached].filter((path) => !paths.includes(path))).toEqual([]);
  });

  test('runs no program by importing it', () => {
    const programs = /from "\.\/(main|child|[a-z-]+-thread)\.js"/;
    expect(paths.filter((path) => path.startsWith('dist/bundled/') && programs.test(read(path)))).toEqual([]);
  });

  test('has what its documents link to', () => {
    const links = paths
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to]) => join(path, '..', to!)),
      )
      .map((path) => path.replace(/\/$/, ''));
    const isPacked = (link: string) => paths.some((path) => path === link || path.startsWith(`${link}/`));
    expect(links).toContain('docs/production.md');
    expect(links.filter((link) => !isPacked(link))).toEqual([]);
  });

  test('points to no source that is not in it', () => {
    const pointing = paths.filter((path) => /\.js$/.test(path) && /sourceMappingURL/.test(read(path)));
    expect(pointing).toEqual([]);
  });

  test('is small', () => {
    expect(packed.unpackedSize).toBeLessThan(3_600_000);
  });
});

describe('its dependencies', () => {
  const { dependencies, optionalDependencies } = JSON.parse(read('package.json')) as {
    dependencies: Record<string, string>;
    optionalDependencies: Record<string, string>;
  };

  test('are all that the bundles import', () => {
    const names = below('dist/bundled').flatMap((path) =>
      [...read(`dist/bundled/${path}`).matchAll(/^(?:import|export) .*from "([^."][^"]*)";$/gm)].map(
        ([, from]) => from!,
      ),
    );
    const packages = names.filter((name) => !name.startsWith('node:'));
    expect(packages.filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  test('are pinned', () => {
    const versions = Object.values({ ...dependencies, ...optionalDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+/.test(version))).toEqual([]);
  });

  test('are those that are imported, no more and no fewer', () => {
    const names = below('src')
      // The packages of ui/ are built into the pages.
      .filter((path) => path.endsWith('.ts') && !path.startsWith('ui/'))
      .flatMap((path) => [...read(`src/${path}`).matchAll(/(?:\bfrom |\bimport\()'([@a-z][^']*)'/g)])
      .map(([, from]) =>
        from!
          .split('/')
          .slice(0, from!.startsWith('@') ? 2 : 1)
          .join('/'),
      )
      // taskq itself: in what `init` writes.
      .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name) && name !== 'taskq');
    // commander is in the bundles.
    expect([...new Set(names)].sort()).toEqual(['commander', ...Object.keys(dependencies)].sort());
  });

  test('have each a reason in CONTRIBUTING.md', () => {
    const table = read('CONTRIBUTING.md').split('## Packages')[1]!;
    const named = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) =>
      cell!.split(',').map((name) => name.trim()),
    );
    expect(Object.keys(dependencies).filter((name) => !named.includes(name))).toEqual([]);
  });
});
