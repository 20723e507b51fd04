import type { TaskqServer } from '../../src/serve.ts';

export interface LiveEvent {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it knows
  readonly data: any;
}

export interface LiveStream {
  readonly status: number;
  /** The next event, past comments; undefined: the stream has ended. */
  next(): Promise<LiveEvent | undefined>;
  /** Goes, as a browser that is closed. */
  leave(): Promise<void>;
}

/** Asks for the stream of a server, or of one that listens at an address. */
export async function listenTo(
  server: TaskqServer | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<LiveStream> {
  const path = '/api/v1/live';
  const response =
    typeof server === 'string'
      ? await fetch(server + path, { headers })
      : await server.fetch(new Request(`http://localhost${path}`, { headers }));
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    status: response.status,
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end === -1) {
          const { done, value } = await reader.read();
          if (done) return undefined;
          text += decoder.decode(value, { stream: true });
          continue;
        }
        const found = eventIn(text.slice(0, end));
        text = text.slice(end + 2);
        if (found !== undefined) return found;
      }
    },
    leave: () => reader.cancel(),
  };
}

function eventIn(block: string): LiveEvent | undefined {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const event = field('event');
  return event === undefined ? undefined : { event, id: field('id'), data: JSON.parse(field('data')!) };
}
