import type { Command } from 'commander';
import { EXIT } from '../../lib/errors.ts';
import type { CliCommand } from './command.ts';
import { type Context, createContext } from './context.ts';
import { readEnvFile } from './env-file.ts';
import type { Environment } from './environment.ts';
import type { GlobalOptions } from './global-options.ts';
import { createOutput, type Output } from './output.ts';
import { reportError } from './report-error.ts';
import { exitCodeOf, untilStopped } from './until-stopped.ts';

/** Run a command whose options `commander` has read. Returns the exit code, after printing any error. */
export async function runCommand(command: CliCommand, commander: Command, env: Environment): Promise<number> {
  const options = commander.optsWithGlobals<GlobalOptions>();
  const output = createOutput(env, options);
  const context = createContext({ command: fullName(commander), env, options, output });
  try {
    const call = { args: commander.args, options };
    if (options.envFile !== undefined) readEnvFile(options.envFile);
    const run = async () => (await command.run?.(context, call)) ?? EXIT.done;
    return exitCode(context, await untilStopped(command, context, run));
  } catch (error) {
    return exitCode(context, reportError(context.explain(error), output));
  } finally {
    await closeUnlessHurried(context, output);
  }
}

/** `taskq dead revive` */
function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

function exitCode({ signal, onSignal }: Context, code: number): number {
  return signal.aborted && onSignal() !== 'close' ? exitCodeOf(signal.reason) : code;
}

/** Closing would wait for a running statement, and a user who pressed Ctrl-C must not wait. */
async function closeUnlessHurried(context: Context, output: Output): Promise<void> {
  if (context.signal.aborted) return;
  await context.close().catch((error: unknown) => reportError(context.explain(error), output));
}
