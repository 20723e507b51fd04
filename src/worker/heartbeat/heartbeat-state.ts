import type { Wakeup } from '../../lib/wakeup.ts';
import type { EventLog } from '../log/events.ts';

export interface HeartbeatStateOptions {
  readonly leaseMs: () => number;
  readonly events: EventLog;
  /** Triggered when heartbeats are answered again. */
  readonly slotFreed: Wakeup;
}

/** What the heartbeat thread last reported: whether it receives hints, and when a heartbeat was answered. */
export class HeartbeatState {
  readonly #options: HeartbeatStateOptions;
  #receivesHints = false;
  #isFailureLogged = false;
  #lastAnsweredAt = performance.now();

  constructor(options: HeartbeatStateOptions) {
    this.#options = options;
  }

  /** Whether hints arrive. */
  get receivesHints(): boolean {
    return this.#receivesHints;
  }

  /** Whether heartbeats have gone unanswered for so long that claimed tasks would be lost again: then claim nothing. */
  get isSilent(): boolean {
    return performance.now() - this.#lastAnsweredAt > (this.#options.leaseMs() * 2) / 3;
  }

  /** The listening connection was tested. Logs once that notifications do not arrive on it. */
  connected(receivesHints: boolean): void {
    this.#receivesHints = receivesHints;
    if (receivesHints || this.#isFailureLogged) return;
    this.#isFailureLogged = true;
    this.#options.events.event('listening.failed');
  }

  disconnected(): void {
    this.#receivesHints = false;
  }

  /** A heartbeat was answered: held leases are renewed. */
  answered(): void {
    const wasSilent = this.isSilent;
    this.#lastAnsweredAt = performance.now();
    if (wasSilent) this.#options.slotFreed.trigger();
  }
}
