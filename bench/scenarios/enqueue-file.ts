import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { clockMs } from '../lib/clock.ts';
import { TASKQ } from '../lib/commands.ts';
import { payloadText, SMALL } from '../lib/payload.ts';
import { residentMb } from '../lib/resident-size.ts';
import type { Bench } from '../lib/scenario.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';

/** `taskq enqueue --file`, from start to end. */
export async function enqueueFile(bench: Bench, address: StoreAddress): Promise<void> {
  const tasks = bench.quick ? 50_000 : 1_000_000;
  const what = `--file of ${tasks.toLocaleString('en')}`;
  bench.progress(`${what}: taskq`);
  const began = clockMs();
  const taskq = spawn(
    process.execPath,
    [TASKQ, 'enqueue', TYPE, '--file', '-', '--allow-unknown', '--quiet', '--database-url', address],
    { stdio: ['pipe', 'ignore', 2] },
  );
  const remove = bench.undo.add(async () => void taskq.kill('SIGKILL'));
  let peakMb = 0;
  const watch = setInterval(async () => {
    peakMb = (await residentMb(taskq.pid!))?.peak ?? peakMb;
  }, 100);
  Readable.from(lines(tasks)).pipe(taskq.stdin!);
  const [code] = await once(taskq, 'exit');
  clearInterval(watch);
  await remove();
  if (code !== 0) throw new Error(`taskq enqueue --file ended with ${code}`);
  bench.note(what, 'taskq', tasks / ((clockMs() - began) / 1000), 'tasks/s');
  if (peakMb > 0) bench.note('--file, RSS', 'taskq', peakMb, 'MB');
}

function* lines(count: number): Generator<string> {
  for (let from = 0; from < count; from += 1000) {
    yield Array.from(
      { length: Math.min(1000, count - from) },
      (_, n) => `${payloadText(from + n, SMALL)}\n`,
    ).join('');
  }
}
