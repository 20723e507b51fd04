import type { CommanderError } from 'commander';
import { EXIT, type TaskqError } from '../lib/errors.ts';
import { printed } from '../lib/printed.ts';
import { buildProgram } from './program.ts';
import type { Environment } from './run/environment.ts';
import type { GlobalOptions } from './run/global-options.ts';
import { namedCommands, withHelpOption } from './run/named-commands.ts';

/**
 * Run one command line. Returns the exit code, after printing any error and, unless a signal has ended it, all other
 * output.
 */
export async function main(typed: readonly string[], env: Environment): Promise<number> {
  const code = await run(typed, env);
  if (code <= 128) await printed();
  return code;
}

async function run(typed: readonly string[], env: Environment): Promise<number> {
  let code: number = EXIT.done;
  const argv = withHelpOption(typed);
  const program = await buildProgram(argv, async (command, commander) => {
    const { keepCompiled } = await import('../lib/keep-compiled.ts');
    keepCompiled();
    const { runCommand } = await import('./run/run-command.ts');
    code = await runCommand(command, commander, env);
  });
  const refuse = async (
    why: (refusals: typeof import('./usage-error.ts')) => Promise<TaskqError>,
  ): Promise<number> => {
    const { createOutput } = await import('./run/output.ts');
    const { reportError } = await import('./run/report-error.ts');
    return reportError(await why(await import('./usage-error.ts')), createOutput(env, earlyOptions(argv)));
  };
  const { commands, other, asksHelp } = namedCommands(program, argv);
  // Commander would print the help of the command above.
  if (asksHelp && other !== undefined && commands.at(-1)!.commands.length > 0)
    return refuse(({ unknownCommand }) => unknownCommand(commands, other));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return EXIT.done;
    // A command without the name of its subcommand: commander has printed the help.
    if (error.code === 'commander.help') return EXIT.usage;
    return refuse(({ usageError }) => usageError(error, program, argv));
  }
}

function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}

/** How to print an error when the options could not be read. */
function earlyOptions(argv: readonly string[]): GlobalOptions {
  const end = argv.indexOf('--');
  const given = end === -1 ? argv : argv.slice(0, end);
  return { color: !given.includes('--no-color'), ...(given.includes('--json') && { json: true }) };
}
