import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../dist/queue/schema/migrate.js';
import { applySupervisors } from '../../test/examples/apply.ts';
import { startProviders } from '../../test/examples/providers.ts';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import { TASKQ } from '../lib/commands.ts';
import { endProcess } from '../lib/end-process.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { cpuMsOf } from '../lib/server-cpu.ts';
import type { StoreAddress } from '../peers/peer.ts';

const HANDLERS = fileURLToPath(new URL('../../handlers', import.meta.url));
const LIMIT_MS = 120_000;

export const supervisors: Scenario = {
  name: 'supervisors',
  title:
    'e-mails under the supervisors of the examples, from kickoff to recorded success; taskq work, defaults',
  async run(bench) {
    const emails = bench.quick ? 200 : 1000;
    for (let round = 0; round < bench.rounds; round++) await sent(bench, emails);
  },
};

async function sent(bench: Bench, emails: number): Promise<void> {
  const what = `${emails} e-mails`;
  bench.progress(what);
  const address = await bench.openStore('taskq');
  await migrate({ databaseUrl: address, with: ['queues'] });
  const providers = await startProviders();
  const worker = startWorker(address, providers.env);
  const stop = bench.undo.add(() => endProcess(worker, 'SIGTERM'));
  await withClient(address, async (client) => {
    await applySupervisors(client);
    await client.query(
      `insert into comms.email_message (to_address, subject, body)
       select format('customer-%s@example.org', n), 'Your order', 'It is on its way.' from generate_series(1, $1) as n`,
      [emails],
    );
    await client.query('vacuum (analyze)');
    const count = async (table: string) => {
      const { rows } = await client.query<{ count: number }>(`select count(*)::integer from ${table}`);
      return rows[0]!.count;
    };
    while ((await count('taskq.workers')) === 0) await sleep(20);
    const cpuMs = async () => {
      const { user, system } = process.cpuUsage();
      return [await bench.serverCpuMs(), await cpuMsOf(worker.pid!), (user + system) / 1000] as const;
    };
    const before = await cpuMs();
    const began = clockMs();
    await client.query('select comms.kickoff_send_email(email_message_id) from comms.email_message');
    while ((await count('comms.send_email_attempt_succeeded')) < emails && clockMs() - began < LIMIT_MS)
      await sleep(20);
    const seconds = (clockMs() - began) / 1000;
    const after = await cpuMs();
    const recorded = await count('comms.send_email_attempt_succeeded');
    if (recorded > providers.done.mails.length)
      throw new Error(`${recorded} e-mails are recorded and were not sent`);
    bench.note(what, 'taskq', recorded / seconds, 'tasks/s');
    for (const [n, of] of ['the server', 'the worker', 'the SMTP server'].entries()) {
      const [from, to] = [before[n], after[n]];
      if (from !== undefined && to !== undefined)
        bench.note(`${what}, CPU µs of ${of}`, 'taskq', ((to - from) * 1000) / recorded, 'per task');
    }
  });
  await stop();
  providers.close();
  await bench.releaseStore('taskq', address);
}

function startWorker(address: StoreAddress, env: Readonly<Record<string, string>>): ChildProcess {
  const args = ['work', '--quiet', '--database-url', address, '--handlers', HANDLERS];
  return spawn(process.execPath, [TASKQ, ...args, '--types', 'db_function,email', '--queues', 'queues'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
  });
}
