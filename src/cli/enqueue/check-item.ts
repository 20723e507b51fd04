import type { StoredEnqueueOptions } from '../../domain/enqueue-options.ts';
import { checkedName } from '../../domain/names.ts';
import { type StoredPayload, storablePayload } from '../../domain/payload.ts';
import type { ErrorCode } from '../../lib/error-codes.ts';
import { TaskqError } from '../../lib/errors.ts';
import { JsonError, parseJson } from '../../lib/json.ts';
import type { NewTask } from '../../queue/protocol/enqueue.ts';
import { newTask } from '../../queue/protocol/new-task.ts';
import type { InputItem } from './input-item.ts';
import { type KnownType, type LookUpType, withKnownCallbacks } from './known-types.ts';
import { memberText } from './member-text.ts';
import { mergedOptions } from './task-options.ts';

export type CheckedItem = { readonly task: NewTask } | { readonly problem: string };

export interface ItemRules {
  /** The type of items that name none. */
  readonly type: string | undefined;
  readonly form: 'payload' | 'envelope';
  /** The command line's options, for every task. */
  readonly flags: Record<string, unknown>;
  readonly lookUp: LookUpType;
}

/**
 * Make a function that checks one item and makes a task of it: synchronously, unless it must first look up a type or
 * the handler has a schema. (Awaiting each of a million lines would take longer than checking them.)
 */
export function itemChecker(rules: ItemRules): (item: InputItem) => CheckedItem | Promise<CheckedItem> {
  const optionsByType = new Map<string, StoredEnqueueOptions>();

  const check = (text: string): NewTask | Promise<NewTask> => {
    const value = parseJson(text);
    if (rules.form === 'payload') return make(rules.type, { text, value }, NO_OPTIONS);
    const { type = rules.type, payload, options } = envelopeOf(text, value);
    return make(type, payload, options);
  };

  const make = (
    name: string | undefined,
    payload: StoredPayload,
    options: object,
  ): NewTask | Promise<NewTask> => {
    if (name === undefined) throw problem('it has no "type", and the command line gives none');
    const type = rules.lookUp(name);
    return type instanceof Promise
      ? type.then((known) => makeOf(known, payload, options))
      : makeOf(type, payload, options);
  };

  const makeOf = (type: KnownType, payload: StoredPayload, options: object): NewTask | Promise<NewTask> => {
    const made = newTask(
      type.name,
      storablePayload(type.name, payload),
      optionsOf(type, options),
      type.schema,
    );
    return made instanceof Promise
      ? made.then((task) => withKnownCallbacks(task, rules.lookUp))
      : withKnownCallbacks(made, rules.lookUp);
  };

  const optionsOf = (type: KnownType, own: object): StoredEnqueueOptions => {
    // `--key-for` and `--on-held` apply to the keys of lines, and not every line has one.
    if ('key' in own) return mergedOptions(type.defaults, rules.flags, own);
    const flags = { ...rules.flags, keyFor: undefined, onHeld: undefined };
    if (Object.keys(own).length > 0) return mergedOptions(type.defaults, flags, own);
    const known = optionsByType.get(type.name) ?? mergedOptions(type.defaults, flags);
    optionsByType.set(type.name, known);
    return known;
  };

  return (item) => {
    if (item.text === null)
      return { problem: `${item.kind} ${item.number}: ${item.problem ?? 'unreadable'}` };
    const refused = (error: unknown): CheckedItem => {
      if (!(error instanceof TaskqError) || FATAL.includes(error.code)) throw error;
      return { problem: `${placeOf(item, error)}${messageOf(error)}` };
    };
    try {
      const task = check(item.text);
      return task instanceof Promise ? task.then((made) => ({ task: made }), refused) : { task };
    } catch (error) {
      return refused(error);
    }
  };
}

const NO_OPTIONS = {};

/** These are not the item's fault. */
const FATAL: readonly ErrorCode[] = ['handler_not_loaded', 'connection_failed', 'deadline_passed'];

interface Envelope {
  readonly type?: string;
  readonly payload: StoredPayload;
  readonly options: object;
}

function envelopeOf(text: string, value: unknown): Envelope {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw problem('expected an object such as {"payload": …}');
  }
  const { type, payload, ...options } = value as Record<string, unknown>;
  if (type !== undefined) checkedName('type', type);
  if (!Object.hasOwn(value, 'payload')) throw problem('it has no "payload"');
  return {
    ...(type !== undefined && { type: type as string }),
    payload: { text: memberText(text, 'payload')!, value: payload },
    options,
  };
}

/** Add the place in the input: a JSON error's position is given within the file. */
function placeOf(item: InputItem, error: TaskqError): string {
  const isLine = item.kind === 'line';
  const name = `${item.kind} ${item.number}`;
  if (!(error instanceof JsonError)) return isLine ? `${name}: ` : `${name} (line ${item.line}): `;
  const line = item.line + error.line - 1;
  const column = error.line === 1 ? item.column + error.column - 1 : error.column;
  return isLine ? `line ${line}, column ${column}: ` : `${name} (line ${line}, column ${column}): `;
}

function messageOf(error: TaskqError): string {
  return error instanceof JsonError ? `invalid JSON: ${error.problem}` : error.message;
}

function problem(message: string): TaskqError {
  return new TaskqError('bad_item', message);
}
