import type { Orders } from '../../queue/protocol/orders.ts';
import type { WatchdogSetup } from '../isolation/watchdog.ts';
import type { HeldLease, LeaseMemory } from '../lease/lease-table.ts';

/** What the heartbeat thread is started with. */
export interface HeartbeatSetup extends WatchdogSetup {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly leases: LeaseMemory;
}

/** What the main thread tells the heartbeat thread. */
export type ToHeartbeat =
  | { readonly kind: 'cursors'; readonly cursors: unknown }
  /** Beat now: something has just become worth telling. */
  | { readonly kind: 'beat' }
  /** Tasks are leased for so long, and nothing is under way that leases them for as long as before. */
  | { readonly kind: 'leaseTaken'; readonly leaseMs: number }
  | { readonly kind: 'stop' };

/** What the heartbeat thread tells the main thread. */
export type FromHeartbeat =
  | { readonly kind: 'lost'; readonly lease: HeldLease }
  | { readonly kind: 'cancel'; readonly lease: HeldLease; readonly reason: string | null }
  /** What operators want, after each heartbeat. */
  | { readonly kind: 'orders'; readonly orders: Orders }
  /** Lease tasks for so long from now on, and answer `leaseTaken`. */
  | { readonly kind: 'lease'; readonly leaseMs: number; readonly heartbeatMs: number }
  /** Every lease is of this length now. */
  | { readonly kind: 'leaseSettled'; readonly leaseMs: number }
  | { readonly kind: 'wake'; readonly queue: string; readonly fromUs: number }
  /** `listening`: a notification to ourselves came back; without it hints do not arrive. */
  | { readonly kind: 'connected'; readonly listening: boolean }
  | { readonly kind: 'disconnected'; readonly why: string }
  /** A heartbeat was answered. */
  | { readonly kind: 'beaten' }
  /** A heartbeat was refused, on a connection as good as before. */
  | { readonly kind: 'refused'; readonly why: string };
