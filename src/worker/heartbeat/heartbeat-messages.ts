import type { UpcomingSchedule } from '../../queue/protocol/fire-schedule.ts';
import type { Orders } from '../../queue/protocol/orders.ts';
import type { HeldLease, LeaseMemory } from '../lease/lease-table.ts';
import type { WatchdogSetup } from '../watchdog/watchdog.ts';

/** The data the heartbeat thread starts with. */
export interface HeartbeatSetup extends WatchdogSetup {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly leases: LeaseMemory;
}

/** A message from the main thread to the heartbeat thread. */
export type ToHeartbeat =
  | { readonly kind: 'cursors'; readonly cursors: unknown }
  /** How many leases were lost since the worker started. */
  | { readonly kind: 'leasesLost'; readonly leases: number }
  /** The worker drains: send a heartbeat that reports it now. */
  | { readonly kind: 'draining' }
  /** Tasks are now leased for `leaseMs`, and no statement in flight leases them for the previous length. */
  | { readonly kind: 'leaseSwitched'; readonly leaseMs: number }
  | { readonly kind: 'stop' };

/** A message from the heartbeat thread to the main thread. */
export type FromHeartbeat =
  | { readonly kind: 'lost'; readonly lease: HeldLease }
  | { readonly kind: 'cancel'; readonly lease: HeldLease; readonly reason: string | null }
  /** The database refuses to renew this lease. */
  | { readonly kind: 'unrenewed'; readonly lease: HeldLease; readonly refusal: string }
  /** The operators' orders, after each heartbeat. */
  | { readonly kind: 'orders'; readonly orders: Orders }
  /** The database has no row of this worker. */
  | { readonly kind: 'forgotten' }
  /** The schedules that fire next, as they were read at `readAt` (`processClock`). */
  | {
      readonly kind: 'schedules';
      readonly upcoming: readonly UpcomingSchedule[];
      readonly readAt: number;
    }
  /** The next batch of an operation is due in `nextMs`; null: there is no operation. */
  | { readonly kind: 'operations'; readonly nextMs: number | null }
  /** Lease tasks for `leaseMs` from now on, and answer `leaseSwitched`. */
  | { readonly kind: 'lease'; readonly leaseMs: number; readonly heartbeatMs: number }
  /** Every lease now has this length. */
  | { readonly kind: 'leaseSettled'; readonly leaseMs: number }
  | { readonly kind: 'wake'; readonly queue: string; readonly fromUs: number }
  /** `listening`: a notification to ourselves came back; otherwise hints do not arrive. */
  | { readonly kind: 'connected'; readonly listening: boolean }
  | { readonly kind: 'disconnected'; readonly why: string }
  /** A heartbeat was answered. */
  | { readonly kind: 'answered' }
  /** A heartbeat was refused, on a connection that still works. */
  | { readonly kind: 'refused'; readonly why: string };
