import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** A user at a shell in a terminal. */
export interface Typist {
  /** Types these keys and waits until the terminal's output since then matches. Throws after 20 s. */
  type(keys: string, shows: RegExp): Promise<void>;
  leave(): void;
}

/** Starts an interactive shell in a new terminal (created by `script`). */
export function sitDown(command: string, env: Readonly<Record<string, string>>, cwd: string): Typist {
  const terminal: ChildProcessWithoutNullStreams = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...env, TERM: 'dumb' },
    cwd,
  });
  let shown = '';
  for (const stream of [terminal.stdout, terminal.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      shown = withoutModes(shown + text);
    });
  }
  return {
    async type(keys, shows) {
      shown = '';
      terminal.stdin.write(keys);
      const end = performance.now() + 120_000;
      while (!shows.test(shown)) {
        if (performance.now() > end) throw new Error(`${shows} is not shown: ${JSON.stringify(shown)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    leave: () => void terminal.kill('SIGKILL'),
  };
}

/** Removes the terminal mode switches that a line editor adds to its output. */
function withoutModes(text: string): string {
  return text.replaceAll('\u001b[?2004h', '').replaceAll('\u001b[?2004l', '');
}
