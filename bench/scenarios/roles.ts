import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { withClient } from '../lib/client.ts';
import { TASKQ } from '../lib/commands.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { workOff } from './work-off.ts';

const ROLE = `taskq_bench_worker_${process.pid}`;

export const roles: Scenario = {
  name: 'roles',
  title:
    'a drain as the superuser that migrated, and as a role with `taskq grants --worker`; one process, four',
  async run(bench) {
    const password = randomBytes(16).toString('hex');
    const removeRole = await createRole(bench, password);
    for (let round = 0; round < bench.rounds; round++) {
      const both = [undefined, password];
      const inTurns = round % 2 === 0 ? both : both.toReversed();
      for (const processes of [1, 4])
        for (const password of inTurns) await drained(bench, { processes, password });
    }
    await removeRole();
  },
};

interface Run {
  readonly processes: number;
  /** Of the role that works; undefined: the superuser does. */
  readonly password: string | undefined;
}

async function drained(bench: Bench, { processes, password }: Run): Promise<void> {
  const who = password === undefined ? 'as the superuser' : 'with roles';
  const what = `${who}, ${processes} process${processes === 1 ? '' : 'es'}`;
  bench.progress(what);
  const result = await workOff(bench, {
    order: { system: 'taskq', tuning: 'best', history: false, handler: { kind: 'noop' } },
    ...{ processes, tasks: bench.quick ? 20_000 : 200_000, bytes: SMALL, limitMs: 60_000 },
    ...(password !== undefined && { workersAddress: (address) => grantedAddress(address, password) }),
  });
  bench.note(what, 'taskq', result.tasksPerS, 'tasks/s');
  bench.note(`${what}, CPU µs of the workers`, 'taskq', result.cpuMsPerTask * 1000, 'per task');
  const { serverCpuMsPerTask: server } = result;
  if (server !== undefined) bench.note(`${what}, CPU µs of the server`, 'taskq', server * 1000, 'per task');
}

/** Creates the role. Returns what removes it. */
async function createRole(bench: Bench, password: string): Promise<() => Promise<void>> {
  const address = await bench.openStore('taskq');
  await withClient(address, (client) => client.query(`create role ${ROLE} login password '${password}'`));
  return bench.undo.add(async () => {
    await withClient(address, (client) => client.query(`drop role ${ROLE}`));
    await bench.releaseStore('taskq', address);
  });
}

/** Grants the role what a worker needs in this database. Returns the address under which it connects. */
async function grantedAddress(address: StoreAddress, password: string): Promise<StoreAddress> {
  const grants = ['grants', '--worker', ROLE, '--apply', '--database-url', address];
  await promisify(execFile)(process.execPath, [TASKQ, ...grants]);
  return address.replace(/\/\/([^@/?]*@)?/, `//${ROLE}:${password}@`);
}
