import {
  DEFAULT_SETTINGS,
  QUEUE_SETTINGS,
  type SettingTable,
  type StoredSettings,
  storedSettings,
  TYPE_SETTINGS,
} from '../domain/setting-tables.ts';
import { badOption } from '../lib/bad-option.ts';
import type { QueueSettings } from '../queue/operate/set-queue.ts';
import type { ConfiguredSettings } from './worker-options.ts';

/** Task settings of a configuration, as users write them. */
export interface TaskSettings {
  readonly defaults: object;
  /** By type. */
  readonly types: Readonly<Record<string, object>>;
  /** By queue. */
  readonly queues: Readonly<Record<string, object>>;
}

/** Convert settings to the form a worker registers; SQL then resolves them for every producer. Throws TaskqError. */
export function configuredSettings({ defaults, types, queues }: TaskSettings): ConfiguredSettings {
  const stored = {
    defaults: storedSettings(DEFAULT_SETTINGS, defaults),
    types: byName(TYPE_SETTINGS, types),
    queues: byName(QUEUE_SETTINGS, queues),
  };
  for (const [queue, settings] of Object.entries(stored.queues)) refuseBurstAlone(queue, settings);
  return stored;
}

function byName<Table extends SettingTable>(
  table: Table,
  settings: TaskSettings['types'],
): Record<string, StoredSettings<Table>> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, options]) => [name, storedSettings(table, options)]),
  );
}

/** An operator may give the rate later, a configuration may not. */
function refuseBurstAlone(queue: string, settings: QueueSettings): void {
  const { burst, rate, group_burst: groupBurst, group_rate: groupRate } = settings;
  const refuse = (name: string, value: unknown) => {
    throw badOption(`queueSettings: ${queue}: ${name} ${value} needs a rate`);
  };
  if (burst !== undefined && rate === undefined) refuse('burst', burst);
  if (groupBurst !== undefined && groupRate === undefined) refuse('groupBurst', groupBurst);
}
