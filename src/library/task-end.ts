import type { HandlerMap, ResultOf, TypeOf } from '../domain/handler-map.ts';
import type { StoredError } from '../domain/storable-error.ts';
import type { ResultNote } from '../domain/storable-result.ts';
import type { EndRow } from '../queue/protocol/get-ends.ts';

/** How a task ended. */
export type TaskEnd<Type = string, Result = unknown> = { readonly id: string; readonly type: Type } & (
  | { readonly status: 'completed'; readonly result: Result; readonly resultNote: null }
  /** Its result could not be stored. */
  | { readonly status: 'completed'; readonly result: null; readonly resultNote: ResultNote }
  | { readonly status: 'dead'; readonly reason: string; readonly error: StoredError | null }
  | {
      readonly status: 'cancelled';
      readonly reason: string | null;
      /** What happened to its handler; null if it ended when asked to, or had not started. */
      readonly ending: 'killed' | 'worker_lost' | null;
    }
  | { readonly status: 'expired' }
);

/** An end whose `type` determines the type of its result. */
export type TaskEndOf<Handlers extends HandlerMap, Type extends TypeOf<Handlers> = TypeOf<Handlers>> = {
  [Each in Type]: TaskEnd<Each, ResultOf<Handlers, Each>>;
}[Type];

export function endOf(row: EndRow): TaskEnd {
  const { id, type, status, reason, ending } = row;
  switch (status) {
    case 'completed': {
      const resultNote = row.result_note;
      return resultNote === null
        ? { id, type, status, result: row.result ?? null, resultNote }
        : { id, type, status, result: null, resultNote };
    }
    case 'dead':
      return { id, type, status, reason: reason ?? '', error: row.error as StoredError | null };
    case 'cancelled':
      return { id, type, status, reason, ending };
    case 'expired':
      return { id, type, status };
    default:
      throw new Error(`task ${id} is ${status}: it has not ended`);
  }
}
