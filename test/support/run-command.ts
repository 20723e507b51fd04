import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type RunOptions, runTaskq, type TaskqResult } from './run-taskq.ts';
import { plainEnvironment, REPOSITORY } from './spawn-taskq.ts';

const PROGRAM = fileURLToPath(new URL('serve-commands.mjs', import.meta.url));

/** Marks the end of a run's output on each stream. */
const END = '\u0000end\u0000';

const idle: CommandServer[] = [];

/**
 * Runs a command of the built CLI to its end, as `runTaskq` does. All but a worker and what reads stdin runs in a process
 * that the commands of a test file share, for a tenth of the CPU. Use `runTaskq` for what depends on the process: signals,
 * Node's own variables, handlers that change between two commands.
 */
export async function runCommand(args: readonly string[], options: RunOptions = {}): Promise<TaskqResult> {
  if (args.includes('work') || options.input !== undefined) return runTaskq(args, options);
  const server = idle.pop() ?? (await startServer());
  const env = { ...plainEnvironment(), ...options.env };
  const result = await server.run({ args, cwd: options.cwd ?? REPOSITORY, env, end: END });
  idle.push(server);
  return result;
}

interface CommandLine {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly end: string;
}

interface CommandServer {
  /** Throws if the process ends, which a command must not cause. */
  run(line: CommandLine): Promise<TaskqResult>;
}

/** Starts a process that runs one command at a time, until the process of this test file ends. */
async function startServer(): Promise<CommandServer> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const stdout = outputOf(child.stdout!);
  const stderr = outputOf(child.stderr!);
  await once(child, 'message');
  return {
    async run(line) {
      const ended = codeOf(child);
      child.send(line);
      const [code, out, err] = await Promise.all([ended, stdout(), stderr()]);
      return { code, signal: null, stdout: out, stderr: err };
    },
  };
}

function codeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const onExit = () =>
      reject(new Error(`the command ended its process: ${child.signalCode ?? child.exitCode}`));
    child.once('exit', onExit).once('message', ({ code }: { code: number }) => {
      child.off('exit', onExit);
      resolve(code);
    });
  });
}

/** Returns a function that waits for the end of a run's output on a stream and returns the output. */
function outputOf(stream: Readable): () => Promise<string> {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return async () => {
    while (!text.endsWith(END)) await once(stream, 'data');
    const output = text.slice(0, -END.length);
    text = '';
    return output;
  };
}
