import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { summaryOf } from './demo/summary.ts';
import { checkDockerfile } from './readme/check-dockerfile.ts';
import { checkUnit } from './readme/check-unit.ts';
import { checkYaml } from './readme/check-yaml.ts';
import { type Block, type Section, sectionsOf } from './readme/documents.ts';
import { startMailServer } from './readme/mail-server.ts';
import { endOf, makeSandbox, runShell, type Sandbox, unusedGiven } from './readme/sandbox.ts';
import { checkTranscript } from './readme/transcript.ts';
import { typeErrors } from './readme/types.ts';
import { REPOSITORY } from './support/spawn-taskq.ts';

const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(REPOSITORY, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

let mail: Awaited<ReturnType<typeof startMailServer>>;
beforeAll(async () => {
  mail = await startMailServer();
});
afterAll(() => mail.close());

/*
 * Every fenced block of the documents is tried. The sections (## …) are independent: each starts in an empty project,
 * with a database of its own and with what `readme/given/<document>/<section>.sh` and `.sql` make; its blocks follow
 * in their order. A block whose first line is a comment that names a file is written there first.
 */
describe.each(DOCUMENTS)('%s', (document) => {
  const sections = sectionsOf(document);

  test.each(sections.map((section) => [section.name, section] as const))(
    'every block below "%s" does what it says',
    async (_, section) => {
      const sandbox = await makeSandbox(document, section, { MAIL_URL: mail.url, CHAT_URL: mail.url });
      try {
        for (const block of section.blocks) await tryBlock(sandbox, block);
        await checkThatHandlersRan(sandbox, section);
      } finally {
        await endOf(sandbox);
      }
    },
    240_000,
  );

  test('nothing is given for a section that is not there', () => {
    expect(unusedGiven(document, sections)).toEqual([]);
  });

  test('every link to a file or a heading leads there', () => {
    const text = readFileSync(join(REPOSITORY, document), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, to]) => to!);
    const broken = links.filter((to) => {
      const [path, heading] = to.split('#');
      const target = path === '' ? document : join(document, '..', path!);
      if (!existsSync(join(REPOSITORY, target))) return true;
      return heading !== undefined && !headingsOf(target).has(heading);
    });
    expect(broken).toEqual([]);
  });
});

test('every block of TypeScript has the right types', async () => {
  const blocks = DOCUMENTS.flatMap(sectionsOf).flatMap((section) => section.blocks);
  expect(await typeErrors(blocks.filter(({ kind }) => kind === 'ts'))).toBe('');
});

test('the reference says what the code says', () => {
  expect(() => checkWith('.ci/write-reference.mjs')).not.toThrow();
});

function checkWith(script: string): void {
  execFileSync(process.execPath, [script, '--check'], { cwd: REPOSITORY, stdio: 'pipe' });
}

describe('an ORM', () => {
  const section = sectionsOf('docs/production.md').find(({ name }) => name === 'with-an-orm')!;

  test.each(section.blocks.map((block) => [block.file!, block] as const))(
    'whose transaction is rolled back leaves no task: %s',
    async (_, block) => {
      const sandbox = await makeSandbox('docs/production.md', section, {});
      try {
        const client = await sandbox.database.client();
        const left = async () =>
          (
            await client.query(`select (select count(*)::int from orders) as orders,
              (select count(*)::int from taskq.tasks where type = 'send-receipt') as tasks`)
          ).rows[0];
        const thrown = block.text.replace(/\/\/ Whatever throws.*/, "throw new Error('rolled back');");
        await sandbox.write(block.file!, thrown);
        const { code, output } = await runShell(
          sandbox,
          `node node_modules/jiti/lib/jiti-cli.mjs ${block.file}`,
        );
        expect(code).not.toBe(0);
        expect(output).toContain('rolled back');
        expect(await left()).toEqual({ orders: 0, tasks: 0 });
        await runProgram(sandbox, block);
        expect(await left()).toEqual({ orders: 1, tasks: 1 });
      } finally {
        await endOf(sandbox);
      }
    },
    60_000,
  );
});

async function tryBlock(sandbox: Sandbox, block: Block): Promise<void> {
  const { kind, text, file, at } = block;
  if (file !== undefined) await sandbox.write(file, text);
  switch (kind) {
    case 'python':
    case 'sh':
      if (text.startsWith('#!')) return; // a program: what follows it runs it
      return isElsewhere(text) ? checkElsewhere(block) : runAll(sandbox, block);
    case 'console':
      return checkTranscript(sandbox, block);
    case 'diff':
      return runAll(sandbox, { ...block, text: `git apply <<'END'\n${text}\nEND` });
    case 'sql':
      return void (await (await sandbox.database.client()).query(withSharedRoles(text)));
    case 'json':
      return void JSON.parse(text);
    case 'yaml':
      return checkYaml(block);
    case 'ini':
      return checkUnit(sandbox, block);
    case 'dockerfile':
      return checkDockerfile(sandbox, block);
    case 'js':
    case 'ts':
      // Its types are checked for all of them at once; a file is run by what follows it, anything else is a program.
      if (file === undefined) await runProgram(sandbox, block);
      return;
    case 'text':
      return expect(withoutFigures(text), at).toBe(withoutFigures(summaryOf(SOME_FIGURES)));
    default:
      throw new Error(
        `${at}: a block of kind "${kind}" is not tried by anything: say how, in test/readme.test.ts`,
      );
  }
}

/** Roles are those of the server, which the tests share: another one may have made this one. */
function withSharedRoles(sql: string): string {
  return sql.replaceAll(
    /^create role [^;]+;/gm,
    (create) =>
      `do $role$ begin ${create} exception when duplicate_object or unique_violation then null; end $role$;`,
  );
}

/** As `node` does where it knows TypeScript. */
async function runProgram(sandbox: Sandbox, { kind, text, at }: Block): Promise<void> {
  await sandbox.write(`program.${kind}`, text);
  const { code, output } = await runShell(sandbox, `node node_modules/jiti/lib/jiti-cli.mjs program.${kind}`);
  expect(code, `${at}:\n${output}`).toBe(0);
}

async function runAll(sandbox: Sandbox, { text, at }: Block): Promise<void> {
  const { code, output } = await runShell(sandbox, `set -e\n${text}`);
  expect(code, `${at}:\n${output}`).toBe(0);
}

/** Commands of this repository, which CI runs itself, and those that install it, which test/package/installed.test.ts runs. */
function isElsewhere(text: string): boolean {
  return /^npm /.test(text);
}

function checkElsewhere({ text, at }: Block): void {
  const { scripts, version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
    readonly scripts: object;
    readonly version: string;
  };
  if (text.includes('npm pack')) {
    expect(text, at).toContain(`npm install ../taskq/taskq-${version}.tgz`);
    return;
  }
  const ci = readFileSync(join(REPOSITORY, '.ci/run'), 'utf8');
  for (const command of text.split('\n').flatMap((line) => line.replace(/#.*/, '').split('&&'))) {
    const [, name = ''] = /^npm (?:run )?(\S+)$/.exec(command.trim()) ?? [];
    if (name !== 'ci') expect(Object.keys(scripts), at).toContain(name);
    expect(ci, at).toContain(`npm ${name === 'demo' ? 'run ' : ''}${name}`);
  }
}

async function checkThatHandlersRan({ database }: Sandbox, { blocks }: Section): Promise<void> {
  const client = await database.client();
  for (const { file, at } of blocks) {
    const type = /^handlers\/([^_].*)\.\w+$/.exec(file ?? '')?.[1];
    if (type === undefined) continue;
    const { rows } = await client.query(
      `select from taskq.all_tasks where type = $1 and started_at is not null`,
      [type],
    );
    expect(
      rows.length,
      `${at}: no task ran ${file}; let the section enqueue one and work it off`,
    ).toBeGreaterThan(0);
  }
}

const SOME_FIGURES = { completed: 1, flaky: 1, hopeless: 1, enqueuedPerSecond: 1, workedOffPerSecond: 1 };

function withoutFigures(text: string): string {
  return text.replaceAll(/[\d,]+/g, '#').trimEnd();
}

function headingsOf(document: string): ReadonlySet<string> {
  const text = readFileSync(join(REPOSITORY, document), 'utf8');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
  const anchors = headings.map((heading) => heading.toLowerCase().replaceAll(/[^\w\s-]/g, ''));
  return new Set(anchors.map((anchor) => anchor.replaceAll(' ', '-')));
}
