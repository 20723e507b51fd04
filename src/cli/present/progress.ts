import type { Output } from '../run/output.ts';

/** Something under way that is shown to people. */
export interface Progress {
  /** Say how far it is. */
  update(text: string): void;
  /** Take it from the screen. What came of it is said by the caller. */
  end(): void;
}

/** So often a line is written where there is no terminal. */
const EVERY_MS = 5000;

/** Show progress on stderr: a spinner on a terminal, a line now and then elsewhere, nothing with --quiet. */
export async function startProgress(output: Output, text: string): Promise<Progress> {
  return output.canAnimate ? spinner(text) : plainLines(output);
}

async function spinner(text: string): Promise<Progress> {
  const { default: ora } = await import('ora');
  const spinning = ora({ text, stream: process.stderr, discardStdin: false }).start();
  return {
    update(next) {
      spinning.text = next;
    },
    end: () => void spinning.stop(),
  };
}

function plainLines(output: Output): Progress {
  let last = performance.now();
  return {
    update(text) {
      if (performance.now() - last < EVERY_MS) return;
      last = performance.now();
      output.talk(text);
    },
    end() {},
  };
}
