import { afterEach } from 'vitest';
import { createServer, type ServerOptions, type TaskqServer } from '../../src/serve.ts';
import { openApi } from '../../src/server/openapi.ts';
import { hashOf, TOKEN_PREFIX } from '../../src/server/token.ts';
import { faultsOf, type Schema } from '../cli/validate.ts';
import { type QueueDatabase, useDatabase } from '../queue/session.ts';

export interface Asked {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it knows
  readonly body: any;
  readonly headers: Headers;
}

export interface Asking {
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string | Uint8Array<ArrayBuffer>;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly server?: TaskqServer;
}

export interface ServerUnderTest {
  readonly database: QueueDatabase;
  /** Makes a server that is closed after the test; by default callers are admins, and writes are taken. */
  open(options?: Partial<ServerOptions>): TaskqServer;
  /** Asks the server of the test, and checks the answer against the OpenAPI document. */
  ask(method: string, path: string, asking?: Asking): Promise<Asked>;
  /** Makes a token, and returns it. */
  token(options?: { role?: string; queues?: string[]; expires_ms?: number }): Promise<string>;
}

/** A server for the tests of this file, which share a database. */
export function useServer(): ServerUnderTest {
  const database = useDatabase();
  const opened: TaskqServer[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((server) => server.close()));
  });
  const open = (options: Partial<ServerOptions> = {}) => {
    const server = createServer({
      databaseUrl: database.url,
      write: true,
      authorize: () => ({ role: 'admin', by: 'ann' }),
      ...options,
    } as ServerOptions);
    opened.push(server);
    return server;
  };
  let tokens = 0;
  return {
    database,
    open,
    async ask(method, path, { body, text, token, headers, server = opened.at(-1) ?? open() } = {}) {
      const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
      const request = new Request(`http://localhost${path}`, {
        method,
        headers: {
          'sec-fetch-site': 'same-origin',
          ...(sent !== undefined && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent }),
      });
      const response = await server.fetch(request);
      const type = response.headers.get('content-type') ?? '';
      // A stream has no end.
      if (type === 'text/event-stream') await response.body?.cancel();
      const answered = response.bodyUsed ? '' : await response.text();
      const parsed = /json/.test(type) && answered !== '' ? JSON.parse(answered) : answered;
      const faults = faultsIn(method, path, response, parsed);
      if (faults.length > 0) throw new Error(`${method} ${path}: ${faults.join('; ')}: ${answered}`);
      return { status: response.status, body: parsed, headers: response.headers };
    },
    async token(options = {}) {
      tokens += 1;
      const token = `${TOKEN_PREFIX}${String(tokens).padStart(43, '0')}`;
      await database.admin.value('select taskq.add_token($1, $2, $3)', token, hashOf(token), options);
      return token;
    },
  };
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>
  >;
}

const DOCUMENT = JSON.parse(JSON.stringify(openApi()).replaceAll('#/components/schemas/', '#/$defs/')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};
const ROOT: Schema = { $defs: DOCUMENT.components.schemas };

/** What of an answer is not as the document says. */
function faultsIn(method: string, path: string, response: Response, body: unknown): string[] {
  const type = response.headers.get('content-type');
  if (response.status >= 400)
    return [
      ...(type === 'application/problem+json' ? [] : [`the type of a problem is ${type}`]),
      ...faultsOf(body, DOCUMENT.components.schemas.Problem!, ROOT),
    ];
  const { pathname } = new URL(path, 'http://localhost');
  const templates = Object.keys(DOCUMENT.paths).filter((template) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
  const template = templates.find((one) => !one.includes('{')) ?? templates[0];
  const operation = DOCUMENT.paths[template ?? '']?.[method.toLowerCase()];
  const content = operation?.responses[response.status]?.content;
  const schema = (content?.[type ?? ''] ?? content?.['*/*'])?.schema;
  if (schema === undefined) return [`the document has no ${response.status} with ${type}`];
  return type?.includes('json') ? faultsOf(body, schema, ROOT) : [];
}
