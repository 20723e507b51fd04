import { UnknownTypeError } from '../../domain/errors.ts';
import { checkedName } from '../../domain/names.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import { getType } from '../../queue/inspect/get-type.ts';
import type { NewTask } from '../../queue/protocol/enqueue.ts';
import { knownTypes } from '../../queue/protocol/known-types.ts';
import { findHandlerFiles } from '../../worker/handlers/find-handlers.ts';
import { loadFound } from '../../worker/handlers/load-handlers.ts';
import type { Context } from '../run/context.ts';
import { configuredDefaults, type EnqueueDefaults } from './task-options.ts';

/** A type that a task may have. */
export interface KnownType {
  readonly name: string;
  /** The settings that only the configuration has. */
  readonly defaults: EnqueueDefaults;
  /** The schema of its handler here; undefined: there is none. */
  readonly schema: StandardSchema | undefined;
}

/** Looks up a type; answers a repeated name at once. */
export type LookUpType = (name: string) => KnownType | Promise<KnownType>;

/**
 * Make a function that looks types up: among the handlers here, then among those that workers have registered. It
 * throws TaskqError (exit 2), with the nearest names, for a type that neither knows, unless `unknown` is allowed; or
 * for a handler that cannot be loaded.
 */
export async function typeLookUp(context: Context, unknown: 'refused' | 'allowed'): Promise<LookUpType> {
  const { values } = await context.config();
  const files = await findHandlerFiles(values.handlers);
  const found = new Map<string, KnownType | Promise<KnownType>>();
  let registered: Promise<string[]> | undefined;

  const look = async (name: string): Promise<KnownType> => {
    checkedName('type', name);
    const file = files.get(name);
    if (file === undefined && unknown === 'refused') {
      registered ??= context.database().then(knownTypes);
      const others = await registered;
      if (!others.includes(name)) throw unknownType(name, values.handlers, [...files.keys(), ...others]);
    }
    const handler = file === undefined ? undefined : await loadFound(name, file);
    const defaults = await unlessRegistered(context, name, configuredDefaults(values, name));
    const type: KnownType = { name, defaults, schema: handler?.schema };
    found.set(name, type);
    return type;
  };
  return (name) => {
    const known = found.get(name) ?? look(name);
    found.set(name, known);
    return known;
  };
}

/** Look up the types of its `onComplete` and `onDead` as well, if it has them. Returns the task. */
export function withKnownCallbacks(task: NewTask, lookUp: LookUpType): NewTask | Promise<NewTask> {
  const { on_complete, on_dead } = task.options ?? {};
  if (on_complete === undefined && on_dead === undefined) return task;
  return lookUpAll([on_complete?.type, on_dead?.type], lookUp).then(() => task);
}

/** Look up each of these types that is defined. */
export async function lookUpAll(types: readonly (string | undefined)[], lookUp: LookUpType): Promise<void> {
  for (const type of types) if (type !== undefined) await lookUp(type);
}

/**
 * Leave out what workers registered or an operator set: SQL resolves that for every producer, and it takes precedence.
 */
async function unlessRegistered(
  context: Context,
  type: string,
  { queue, priority, expires }: EnqueueDefaults,
): Promise<EnqueueDefaults> {
  if (queue === undefined && priority === undefined && expires === undefined) return {};
  const known = await getType(await context.database(), type);
  return {
    ...(queue !== undefined && known?.queue === undefined && { queue }),
    ...(priority !== undefined && known?.priority === undefined && { priority }),
    ...(expires !== undefined && known?.expires_ms === undefined && { expires }),
  };
}

function unknownType(name: string, directory: string, known: readonly string[]): UnknownTypeError {
  return new UnknownTypeError(name, known, {
    where: `no handler in ${directory}, and no worker has registered it`,
    hint: 'add a handler, run taskq types add, or add --allow-unknown',
  });
}
