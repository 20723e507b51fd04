import type { Metric } from './prometheus.ts';

interface Count {
  readonly route: string;
  readonly method: string;
  readonly code: number;
  requests: number;
}

/** Counts the answers of a server since it started. Text invented by a client never becomes a label. */
export class RequestCounts {
  readonly #counts = new Map<string, Count>();

  /** Undefined: no route of the table. */
  add(answered: { readonly method: string; readonly path: string } | undefined, code: number): void {
    const { path: route, method } = answered ?? { path: '_other', method: '_other' };
    const key = `${method} ${route} ${code}`;
    const count = this.#counts.get(key) ?? { route, method, code, requests: 0 };
    count.requests += 1;
    this.#counts.set(key, count);
  }

  metric(): Metric {
    return {
      ...{ name: 'taskq_http_requests_total', type: 'counter' },
      help: 'Requests that this server has answered since it started.',
      series: [...this.#counts.values()].map(({ route, method, code, requests }) => ({
        labels: { route, method, code: String(code) },
        value: requests,
      })),
    };
  }
}
