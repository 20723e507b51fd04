import type { Queryable } from '../../lib/database.ts';
import { listWorkers } from '../../queue/inspect/list-workers.ts';
import { showTask } from '../../queue/inspect/show-task.ts';
import { printable } from './printable.ts';
import { roughly } from './times.ts';

/** Describe why a task that was asked to end still runs, as a sentence without a full stop. */
export async function whyStillRunning(db: Queryable, id: string): Promise<string> {
  const owner = (await showTask(db, id))?.lease_owner;
  if (typeof owner !== 'string') return `see taskq show ${id}`;
  const [worker] = await listWorkers(db, { all: true, name: owner }, 1);
  const shown = printable(owner);
  if (worker?.status === 'silent' || worker?.status === 'lost') {
    const silentFor = roughly(Date.now() - Date.parse(worker.heartbeat_at));
    return `worker ${shown} has been silent for ${silentFor}: the task is cancelled as soon as another worker takes over`;
  }
  return `its handler ignores the request; end its worker with taskq workers stop ${worker?.id ?? shown}`;
}
