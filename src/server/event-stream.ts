/**
 * The body of an answer with server-sent events, for one client. It holds at most one event that the client has not
 * taken yet, the newest: a slow client misses some events, but does not fill the memory.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #onEnd: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #waiting: { readonly event: Uint8Array; readonly since: number } | undefined;
  /** The client has taken everything and is waiting for more. */
  #isRead = false;

  /** Calls `onEnd` once, when the client has gone or the stream has ended. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          controller.enqueue(encoded(`retry: ${RETRY_MS}\n\n`));
        },
        pull: () => this.#pull(),
        cancel: () => this.#end(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Sends an event, in place of one that the client has not taken. */
  send(event: Uint8Array): void {
    this.#waiting = { event, since: this.#waiting?.since ?? performance.now() };
    if (this.#isRead) this.#pull();
  }

  /**
   * Shows a client that has taken everything, and proxies, that the stream is alive. Breaks the stream of a client that
   * takes nothing.
   */
  beat(): void {
    if (this.#waiting === undefined) this.send(BEAT);
    else if (performance.now() - this.#waiting.since > STALLED_MS)
      this.#end((controller) => controller.error(new Error('the client takes no events')));
  }

  end(): void {
    this.#end((controller) => controller.close());
  }

  #pull(): void {
    const waiting = this.#waiting;
    this.#isRead = waiting === undefined;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#controller?.enqueue(waiting.event);
  }

  #end(how: (controller: ReadableStreamDefaultController<Uint8Array>) => void = () => {}): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    this.#controller = undefined;
    this.#waiting = undefined;
    how(controller);
    this.#onEnd();
  }
}

/** How long a browser waits before it connects again. */
const RETRY_MS = 2000;
const STALLED_MS = 60_000;

/** An event as it is sent. `data` is one line. */
export function eventOf(name: string, data: string, id?: string): Uint8Array {
  return encoded(`event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`);
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const BEAT = encoded(':\n\n');
