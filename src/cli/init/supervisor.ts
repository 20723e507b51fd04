import { readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { badOption } from '../../lib/bad-option.ts';
import { packageRoot } from '../../lib/package-root.ts';
import { findHandlerFiles } from '../../worker/handlers/find-handlers.ts';
import type { Context } from '../run/context.ts';
import { channelFile, ENDINGS } from './files.ts';
import type { Initialised } from './first-files.ts';
import { supervisorCommands } from './next-commands.ts';
import { type ProcessName, parseProcessName } from './process-name.ts';
import { describeProject } from './project.ts';
import { type WantedFile, writeMissing } from './write-missing.ts';

/** SQL that runs as it is: the process `foo` in the schema `domain`, as S2 calls them. */
const TEMPLATE = join(packageRoot(), 'sql', 'templates', 'supervisor.sql');

/** The handler that runs supervisors, to be copied; it is JavaScript, too. */
const DB_FUNCTION = join(packageRoot(), 'handlers', 'db_function.ts');

/** Write the SQL of a supervised process, and the handlers that it needs. */
export async function writeSupervisor(context: Context, asked: string): Promise<Initialised> {
  const template = await readTemplate();
  const process = parseProcessName(asked, template.longest);
  const { values } = await context.config();
  const types = await findHandlerFiles(values.handlers);
  const { language } = await describeProject(context.cwd);
  const sql = join('supervisors', `${process.name}.sql`);
  await refuseOther(join(context.cwd, sql), sql, process);
  const created: string[] = [];
  const kept: string[] = [];
  const write = async (file: WantedFile) => {
    ((await writeMissing(file)) ? created : kept).push(relative(context.cwd, file.path));
  };
  await write({ path: join(context.cwd, sql), text: supervisorSql(template.text, process) });
  const handlers = [
    [process.name, channelFile(language, process.name)],
    ['db_function', await readFile(DB_FUNCTION, 'utf8')],
  ] as const;
  for (const [type, text] of handlers) {
    const path = types.get(type)?.path ?? join(values.handlers, `${type}${ENDINGS[language].handler}`);
    await write({ path, text });
  }
  const runner = kept.find((path) => basename(path).startsWith('db_function.'));
  const demand = runner === undefined ? null : demandOf(runner);
  return { created, kept, next: supervisorCommands(context.env, values, process, sql), demand };
}

/** What an existing handler of supervisors has to do. */
function demandOf(path: string): string {
  return `${path} must retry what fails, as a dbFunctionHandler does that sets no onFailure: after a failure that
completes its task, no supervisor looks at the process again.`;
}

/** Throw `bad_option` if the file exists, for a process of the same name in another schema. */
async function refuseOther(path: string, shown: string, { schema, name }: ProcessName): Promise<void> {
  const kept = await readFile(path, 'utf8').catch(() => undefined);
  const kickoff = `${schema}.kickoff_${name}`;
  if (kept === undefined || kept.includes(kickoff)) return;
  throw badOption(
    `--supervisor: ${shown} has another process: it does not define ${kickoff}`,
    'give this one another name, which is also its type of tasks',
  );
}

/** Read the template, and the longest identifier in it that has the name of the process, as `<name>`. */
export async function readTemplate(): Promise<{ readonly text: string; readonly longest: string }> {
  const text = await readFile(TEMPLATE, 'utf8');
  const [longest = ''] = (text.match(/\w*foo\w*/g) ?? []).sort((one, other) => other.length - one.length);
  return { text, longest: longest.replace('foo', '<name>') };
}

/** The template for a process of another name. */
export function supervisorSql(template: string, { schema, name }: ProcessName): string {
  return template.replaceAll(/\bdomain\b|foo/g, (found) => (found === 'foo' ? name : schema));
}
