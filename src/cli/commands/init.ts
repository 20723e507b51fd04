import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { findHandlerFiles } from '../../worker/find-handlers.ts';
import type { CliCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { CONFIG, HANDLER, SAMPLE_TYPE } from '../init/files.ts';
import { nextCommands } from '../init/next-commands.ts';

/** `taskq init`: the files to begin with, where there are none. */
export const init: CliCommand = {
  declare(command) {
    command.addHelpText(
      'after',
      `
Writes taskq.config.mjs and handlers/hello.mjs into the working directory. What is there already stays as it is.`,
    );
  },
  async run(context) {
    const { file, values } = await context.config();
    const types = new Set((await findHandlerFiles(values.handlers)).keys());
    const paths = {
      config: file ?? join(context.cwd, 'taskq.config.mjs'),
      handler: join(values.handlers, `${SAMPLE_TYPE}.mjs`),
    };
    const created = [
      ...(file === null && (await written(paths.config, CONFIG)) ? [paths.config] : []),
      ...(types.size === 0 && (await written(paths.handler, HANDLER)) ? [paths.handler] : []),
    ].map((path) => relative(context.cwd, path));
    if (types.size === 0) types.add(SAMPLE_TYPE);
    const kept = keptOf(context, { config: paths.config, handlers: values.handlers }, created);
    const next = nextCommands(context.env, values, types);
    await context.output.answer({ created, kept, next }, ({ paint }) =>
      [
        ...created.map((path) => `${paint.green('created')} ${path}`),
        ...kept.map((path) => `kept    ${path}`),
        '',
        'next:',
        ...next.map((line) => `  ${line}`),
      ].join('\n'),
    );
  },
};

/** What was there before, of a configuration file and of handlers. */
function keptOf(
  { cwd }: Context,
  { config, handlers }: { readonly config: string; readonly handlers: string },
  created: readonly string[],
): string[] {
  const shown = relative(cwd, config);
  return [
    ...(created.includes(shown) ? [] : [shown]),
    ...(created.some((path) => path.endsWith(`${SAMPLE_TYPE}.mjs`)) ? [] : [`${relative(cwd, handlers)}/`]),
  ];
}

/** False: there is such a file. */
async function written(path: string, text: string): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw new TaskqError('not_written', `cannot write ${path}: ${code ?? String(error)}`, { cause: error });
  }
}
