import type { Command, CommanderError } from 'commander';
import { EXIT } from '../lib/errors.ts';
import type { CliCommand } from './command.ts';
import { type Context, createContext } from './context.ts';
import type { GlobalOptions } from './global-options.ts';
import { createOutput, type Output } from './output.ts';
import { buildProgram } from './program.ts';
import { reportError } from './report-error.ts';
import { untilStopped } from './until-stopped.ts';
import { usageError } from './usage-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Run one command line. Returns the exit code; errors have been printed. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  let code: number = EXIT.done;
  const program = buildProgram(async (command, commander) => {
    code = await runCommand(command, commander, env);
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return EXIT.done;
    // Help that was not asked for: a command without the name of its subcommand. It has been printed.
    if (error.code === 'commander.help') return EXIT.usage;
    return reportError(usageError(error, argv), createOutput(env, earlyOptions(argv)));
  }
}

async function runCommand(command: CliCommand, commander: Command, env: Environment): Promise<number> {
  const options = commander.optsWithGlobals<GlobalOptions>();
  const output = createOutput(env, options);
  const context = createContext({ command: commander.name(), env, options, output });
  try {
    const call = { args: commander.args, options };
    return await untilStopped(
      command,
      context,
      async () => (await command.run?.(context, call)) ?? EXIT.done,
    );
  } catch (error) {
    return reportError(context.explain(error), output);
  } finally {
    await closeUnlessHurried(context, output);
  }
}

/** A statement under way would hold up one who pressed Ctrl-C. */
async function closeUnlessHurried(context: Context, output: Output): Promise<void> {
  if (context.signal.aborted) return;
  await context.close().catch((error: unknown) => reportError(context.explain(error), output));
}

function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}

/** How an error is to be printed when the options could not be read. */
function earlyOptions(argv: readonly string[]): GlobalOptions {
  const end = argv.indexOf('--');
  const given = end === -1 ? argv : argv.slice(0, end);
  return { color: !given.includes('--no-color'), ...(given.includes('--json') && { json: true }) };
}
