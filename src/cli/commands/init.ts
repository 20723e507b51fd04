import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { messageOf } from '../../lib/thrown.ts';
import { findHandlerFiles } from '../../worker/handlers/find-handlers.ts';
import { ENDINGS, SAMPLE_TYPE, sampleFiles } from '../init/files.ts';
import { nextCommands } from '../init/next-commands.ts';
import { describeProject } from '../init/project.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';

/** `taskq init`: write the first files, where they are missing. */
export const init: CliCommand = {
  declare(command) {
    command.addHelpText(
      'after',
      `
Writes taskq.config.mjs, handlers/hello.mjs and handlers/hello.test.mjs, in TypeScript if the project has a
tsconfig.json. Existing files are not changed.`,
    );
  },
  async run(context) {
    const { file, values } = await context.config();
    const types = new Set((await findHandlerFiles(values.handlers)).keys());
    const { language, runner } = await describeProject(context.cwd);
    const texts = sampleFiles(language, runner, relative(context.cwd, values.handlers));
    const endings = ENDINGS[language];
    const sample = join(values.handlers, SAMPLE_TYPE);
    const config = file ?? join(context.cwd, `taskq.config${endings.config}`);
    const wanted = [
      ...(file === null ? [{ path: config, text: texts.config }] : []),
      ...(types.size === 0
        ? [
            { path: `${sample}${endings.handler}`, text: texts.handler },
            { path: `${sample}${endings.test}`, text: texts.test },
          ]
        : []),
    ];
    const created: string[] = [];
    for (const { path, text } of wanted) {
      if (await written(path, text)) created.push(relative(context.cwd, path));
    }
    if (types.size === 0) types.add(SAMPLE_TYPE);
    const kept = keptOf(context, { config, handlers: values.handlers }, created);
    const test = created.find((path) => path.endsWith(endings.test));
    const next = nextCommands(context.env, values, types, test === undefined ? [] : [{ path: test, runner }]);
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

/** The configuration file and handlers that existed before. */
function keptOf(
  { cwd }: Context,
  { config, handlers }: { readonly config: string; readonly handlers: string },
  created: readonly string[],
): string[] {
  const shown = relative(cwd, config);
  return [
    ...(created.includes(shown) ? [] : [shown]),
    ...(created.some((path) => path !== shown) ? [] : [`${relative(cwd, handlers)}/`]),
  ];
}

/** Write a file. False: it already exists. */
async function written(path: string, text: string): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw new TaskqError('not_written', `cannot write ${path}: ${code ?? messageOf(error)}`, {
      cause: error,
    });
  }
}
