import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { resetServer } from '../../src/embedded/reset.ts';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Section } from './documents.ts';

/** Where a section's blocks are tried: an empty project that has taskq installed, and a database of its own. */
export interface Sandbox {
  readonly directory: string;
  readonly database: TestDatabase;
  readonly env: Readonly<Record<string, string>>;
  write(file: string, text: string): Promise<void>;
}

export interface ShellEnd {
  readonly code: number;
  readonly output: string;
}

/**
 * Makes a sandbox. The database is migrated unless the section migrates it. What the section takes for given is done
 * first: `given/<document>/<section>.sh` and `.sql`.
 */
export async function makeSandbox(
  document: string,
  section: Section,
  env: Readonly<Record<string, string>>,
): Promise<Sandbox> {
  const migrates = section.blocks.some(({ kind, text }) => isShell(kind) && text.includes('taskq migrate'));
  const database = await (migrates ? emptyDatabase() : createTestDatabase());
  const directory = await temporaryDirectory();
  const bin = join(directory, 'node_modules', '.bin');
  await mkdir(bin, { recursive: true });
  await symlink(join(REPOSITORY, 'bin/taskq.js'), join(bin, 'taskq'));
  await symlink(REPOSITORY, join(directory, 'node_modules/taskq'));
  for (const name of dependencies()) await link(name, directory);
  const sandbox: Sandbox = {
    directory,
    database,
    env: {
      PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: process.env.HOME ?? '/',
      DATABASE_URL: database.url,
      // A local PostgreSQL that a section starts is one of its own.
      TASKQ_STATE_DIR: join(directory, '.state'),
      NO_COLOR: '1',
      PAGER: 'cat',
      TZ: 'UTC',
      ...env,
    },
    async write(file, text) {
      const path = join(directory, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `${text}\n`, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
    },
  };
  await sandbox.write('package.json', '{ "name": "shop", "private": true, "type": "module" }');
  await given(document, section, sandbox);
  return sandbox;
}

/** Ends what `given` has left running, which has noted its process in `.pids`, and the database. */
export async function endOf({ directory, database }: Sandbox): Promise<void> {
  const pids = await readFile(join(directory, '.pids'), 'utf8').catch(() => '');
  for (const pid of pids.split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
  const stateDir = join(directory, '.state');
  if (existsSync(stateDir)) await resetServer({ stateDir });
  await database.drop();
}

/** Runs a script of shell in the sandbox, as it is. */
export function runShell(sandbox: Sandbox, script: string): Promise<ShellEnd> {
  return run('bash', ['-c', script], sandbox);
}

/** Runs it on a terminal, as a person would. */
export function runOnTerminal(sandbox: Sandbox, script: string): Promise<ShellEnd> {
  return run('script', ['--quiet', '--return', '--command', `bash ${script}`, '/dev/null'], sandbox);
}

export function isShell(kind: string): boolean {
  return kind === 'sh' || kind === 'console';
}

const LIMIT_MS = 220_000;

/** What it leaves running ends with it if it fails: a server would keep its port from the next section. */
function run(command: string, args: readonly string[], { directory, env }: Sandbox): Promise<ShellEnd> {
  return new Promise((resolve) => {
    const options = { cwd: directory, env: { ...env }, detached: true } as const;
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (data) => stdout.push(data));
    child.stderr.on('data', (data) => stderr.push(data));
    const endAll = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {
        // Nothing is left.
      }
    };
    const timer = setTimeout(endAll, LIMIT_MS);
    child.on('exit', (code) => void (code !== 0 && endAll()));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, output: Buffer.concat([...stdout, ...stderr]).toString() });
    });
  });
}

async function given(document: string, { name }: Section, sandbox: Sandbox): Promise<void> {
  const path = join(REPOSITORY, 'test/readme/given', document, name);
  if (existsSync(`${path}.sql`)) {
    await (await sandbox.database.client()).query(await readFile(`${path}.sql`, 'utf8'));
  }
  if (!existsSync(`${path}.sh`)) return;
  const { code, output } = await runShell(sandbox, `set -e\n${await readFile(`${path}.sh`, 'utf8')}`);
  if (code !== 0) throw new Error(`${path}.sh ended with ${code}:\n${output}`);
}

/** What is given for sections that do not exist, by path. */
export function unusedGiven(document: string, sections: readonly Section[]): string[] {
  const directory = join(REPOSITORY, 'test/readme/given', document);
  if (!existsSync(directory)) return [];
  const names = new Set(sections.map(({ name }) => name));
  return readdirSync(directory).filter((file) => !names.has(file.replace(/\.(sh|sql)$/, '')));
}

function dependencies(): string[] {
  const about = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as Record<string, object>;
  return Object.keys({ ...about.dependencies, ...about.devDependencies });
}

async function link(name: string, directory: string): Promise<void> {
  const path = join(directory, 'node_modules', name);
  await mkdir(dirname(path), { recursive: true });
  await symlink(join(REPOSITORY, 'node_modules', name), path);
}
