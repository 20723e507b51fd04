import { join, relative } from 'node:path';
import { findHandlerFiles } from '../../worker/handlers/find-handlers.ts';
import type { Context } from '../run/context.ts';
import { ENDINGS, SAMPLE_TYPE, sampleFiles } from './files.ts';
import { nextCommands } from './next-commands.ts';
import { describeProject } from './project.ts';
import { type WantedFile, writeMissing } from './write-missing.ts';

/** What `taskq init` has done, by paths from the current directory, and the next commands. */
export interface Initialised {
  readonly created: readonly string[];
  readonly kept: readonly string[];
  readonly next: readonly string[];
  /** What a kept file must do; null: nothing is required. */
  readonly demand: string | null;
}

/** Write a configuration and, where there are no handlers, one with its test. */
export async function writeFirstFiles(context: Context): Promise<Initialised> {
  const { file, values } = await context.config();
  const types = new Set((await findHandlerFiles(values.handlers)).keys());
  const { language, runner } = await describeProject(context.cwd);
  const texts = sampleFiles(language, runner, relative(context.cwd, values.handlers));
  const endings = ENDINGS[language];
  const sample = join(values.handlers, SAMPLE_TYPE);
  const config = file ?? join(context.cwd, `taskq.config${endings.config}`);
  const wanted: WantedFile[] = [
    ...(file === null ? [{ path: config, text: texts.config }] : []),
    ...(types.size === 0
      ? [
          { path: `${sample}${endings.handler}`, text: texts.handler },
          { path: `${sample}${endings.test}`, text: texts.test },
        ]
      : []),
  ];
  const created: string[] = [];
  for (const one of wanted) {
    if (await writeMissing(one)) created.push(relative(context.cwd, one.path));
  }
  if (types.size === 0) types.add(SAMPLE_TYPE);
  const kept = keptOf(context, { config, handlers: values.handlers }, created);
  const test = created.find((path) => path.endsWith(endings.test));
  const next = nextCommands(context.env, values, types, test === undefined ? [] : [{ path: test, runner }]);
  return { created, kept, next, demand: null };
}

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
