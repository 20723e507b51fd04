import type { EnqueueOptions } from '../domain/enqueue-options.ts';
import type { HandlerMap, PayloadOf, TypeOf, UnknownHandlers } from '../domain/handler-map.ts';
import { badOption } from '../lib/bad-option.ts';
import type { PgClient, PgPool } from '../lib/pg-client.ts';
import { SYNCHRONOUS_COMMITS, type SynchronousCommit } from '../lib/synchronous-commit.ts';
import type { Enqueued } from '../queue/protocol/enqueue.ts';
import type { ActingSettings } from './acting-settings.ts';
import { ACTING, known, type Names } from './known-options.ts';

export type TaskQueueOptions<Handlers> = {
  /** Handlers by type: payloads are checked against their schemas, and their types count as known. */
  readonly handlers?: Handlers;
  /** URL of the same database bypassing a connection pooler; without it `wait` may have to poll. */
  readonly directUrl?: string;
} & (
  | {
      /** URL of the PostgreSQL database; or pass a `pool`. */
      readonly databaseUrl: string;
      readonly pool?: undefined;
      /**
       * Durability of commits, overriding the database; default `on`. With less, a crash of the server may lose tasks.
       */
      readonly synchronousCommit?: SynchronousCommit;
    }
  | {
      /** The application's `pg.Pool`, instead of `databaseUrl`. Its sessions are not changed, and it is never ended. */
      readonly pool: PgPool;
      readonly databaseUrl?: undefined;
      readonly synchronousCommit?: undefined;
    }
);

export interface Joining {
  /** A client in the caller's transaction: the task exists if and only if that commits. */
  readonly client?: PgClient;
  /** Accept an unknown type. */
  readonly allowUnknown?: true;
  /**
   * Do not wake workers by NOTIFY, because a transaction that has notified cannot be prepared (PREPARE TRANSACTION).
   * An idle worker then finds the task when it next polls: within 5 s, or its `poll` if that is longer.
   */
  readonly notify?: false;
  /**
   * Keep the task's end for `wait`, even if it ends at once or has a short retention. Without this, a task with
   * retention `none` leaves nothing to find unless `wait` was called before it ended.
   */
  readonly notifyDone?: true;
}

/** A task for `enqueueMany`. */
export type TaskInput<Handlers extends HandlerMap = UnknownHandlers> = {
  [Type in TypeOf<Handlers>]: { readonly type: Type } & PayloadPart<PayloadOf<Handlers, Type>> &
    EnqueueOptions;
}[TypeOf<Handlers>];

type PayloadPart<Payload> =
  IsOptional<Payload> extends true ? { readonly payload?: Payload } : { readonly payload: Payload };

/** A payload may be omitted if `{}` is valid. */
export type IsOptional<Payload> = Record<never, never> extends Payload ? true : false;

/** What `enqueue` takes after the type. */
export type EnqueueArguments<Payload> =
  IsOptional<Payload> extends true
    ? [payload?: Payload, options?: EnqueueOptions & Joining]
    : [payload: Payload, options?: EnqueueOptions & Joining];

export interface EnqueueManyOptions extends Joining {
  /** Called with the answers (`id` and `created`) of each batch, in the order of its tasks, once it is stored. */
  readonly onEnqueued?: (answers: readonly Enqueued[]) => void;
}

export interface ReviveSettings extends ActingSettings {
  /** Replaces the payload. */
  readonly payload?: unknown;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
  /** Number of attempts from now on; for `revive` only. */
  readonly maxAttempts?: number | 'unlimited';
}

export type RerunSettings = Omit<ReviveSettings, 'maxAttempts'>;

export interface WaitOptions {
  /** Longest wait, as text or in milliseconds; default: no limit. */
  readonly timeout?: string | number;
  /** Rejects the wait with its reason when aborted. */
  readonly signal?: AbortSignal;
}

export const JOINING: Names<Joining> = { client: true, allowUnknown: true, notify: true, notifyDone: true };
export const ENQUEUE_MANY: Names<EnqueueManyOptions> = { ...JOINING, onEnqueued: true };
export const RERUN: Names<RerunSettings> = { ...ACTING, payload: true, delay: true };
export const REVIVE: Names<ReviveSettings> = { ...RERUN, maxAttempts: true };
export const WAIT: Names<WaitOptions> = { timeout: true, signal: true };

/** Throws TaskqError for an unknown option. */
export function checkedOptions<Handlers>(options: TaskQueueOptions<Handlers>): TaskQueueOptions<Handlers> {
  return known(options, {
    ...{ handlers: true, databaseUrl: true, pool: true, directUrl: true, synchronousCommit: true },
  });
}

/** Throws TaskqError for another value than PostgreSQL's. */
export function checkedCommit(given: SynchronousCommit | undefined): SynchronousCommit | undefined {
  if (given === undefined || SYNCHRONOUS_COMMITS.includes(given)) return given;
  throw badOption(
    `synchronousCommit ${JSON.stringify(given)}: expected one of ${SYNCHRONOUS_COMMITS.join(', ')}`,
  );
}
