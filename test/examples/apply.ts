import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';

/** The supervisors of examples/supervisors, in the order in which they are applied. */
const SUPERVISORS = ['comms', 'comms_sms', 'files', 'accounts', 'api'] as const;

/** Applies them to a database that has the schema `queues`. */
export async function applySupervisors(client: pg.Client): Promise<void> {
  for (const name of SUPERVISORS) await client.query(await readSupervisor(name));
}

/** Reads one of them, or the seed. */
export function readSupervisor(name: (typeof SUPERVISORS)[number] | 'seed'): Promise<string> {
  return readFile(fileURLToPath(new URL(`../../examples/supervisors/${name}.sql`, import.meta.url)), 'utf8');
}

/** Lets what waits for its time be due. */
export const HURRY = `update taskq.tasks set available_at = clock_timestamp()
  where available_at > clock_timestamp() and lease_owner is null`;
