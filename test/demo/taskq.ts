import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const BINARY = fileURLToPath(new URL('../../bin/taskq.js', import.meta.url));

/** A task as `--json` prints it, as far as the demo looks. */
export interface TaskJson {
  readonly id: string;
  readonly type: string;
  readonly attempts: number;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>> | null;
}

/**
 * Run the built binary on the embedded database, showing what it says; its command line and, but for `--json`, its
 * output are printed. Returns stdout. Throws when it fails.
 */
export async function taskq(args: string[], options: { cwd: string; input?: string }): Promise<string> {
  const isShown = !args.includes('--json') && !args.includes('--quiet');
  if (isShown) console.log(`$ taskq ${args.join(' ')}`);
  const { DATABASE_URL: _, TASKQ_DATABASE_URL: __, ...env } = process.env;
  // What it prints goes straight to a terminal, so that it looks there as it would for its user.
  const isData = args.includes('--json') || !process.stdout.isTTY;
  const child = spawn(process.execPath, [BINARY, ...args], {
    cwd: options.cwd,
    env: { ...env, TASKQ_DATABASE: 'embedded' },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', isData ? 'pipe' : 'inherit', 'inherit'],
  });
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (isShown) process.stdout.write(text);
  });
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`taskq ${args.slice(0, 3).join(' ')} ended with ${code}`);
  return stdout;
}
