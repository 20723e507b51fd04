import type { Output } from '../run/output.ts';

/** Progress shown to people. */
export interface Progress {
  /** Show the progress so far. */
  update(text: string): void;
  /** Clear the line for other output. */
  aside(print: () => Promise<void>): Promise<void>;
  /** Remove it from the screen. The caller reports the result. */
  end(): void;
}

/** How often to write a line where there is no terminal, and how often the same one. */
const EVERY_MS = 5000;
const SAME_EVERY_MS = 60_000;

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
    async aside(print) {
      spinning.stop();
      await print();
      spinning.start();
    },
    end: () => void spinning.stop(),
  };
}

function plainLines(output: Output): Progress {
  let last = performance.now();
  let written = '';
  return {
    update(text) {
      if (performance.now() - last < (text === written ? SAME_EVERY_MS : EVERY_MS)) return;
      last = performance.now();
      written = text;
      output.talk(text);
    },
    aside: (print) => print(),
    end() {},
  };
}
