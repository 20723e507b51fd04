import { once } from 'node:events';
import { badOption } from '../../lib/bad-option.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import { actorOf } from '../run/operator.ts';
import { reportError } from '../run/report-error.ts';

interface ServeOptions {
  readonly host: string;
  readonly port: string;
  readonly basePath: string;
  readonly write?: true;
  readonly readUrl?: string;
}

/** `taskq serve`: the HTTP API. */
export const serve: CliCommand<ServeOptions> = {
  declare(command) {
    command
      .option('--host <address>', 'listen at this address', '127.0.0.1')
      .option('--port <n>', 'listen at this port; 0 takes a free one', '7433')
      .option('--base-path <path>', 'serve below this path', '/')
      .option('--write', 'accept writes; on a local address, also print a sign-in link for a browser')
      .option('--read-url <url>', 'read from this standby, except events')
      .addHelpText(
        'after',
        `
Without --write every session with the database is read-only. On a loopback address, anyone who can connect may
read. At any other address every request needs a token (taskq tokens add), and there must be one. See docs/http.md.`,
      );
  },
  async run(context, { options }) {
    const port = portOf(options.port);
    const basePath = basePathOf(options.basePath);
    const isLocal = isLoopback(options.host);
    const { url } = await context.chosenDatabase();
    const db = await context.database();
    const { requireKind } = await import('../../queue/schema/require-kind.ts');
    await requireKind(db, ['reader', 'operator']);
    if (options.write) await requireKind(db, ['producer', 'operator']);
    if (!isLocal) await refuseWithoutTokens(db, options.host);
    const [{ zipped }, { createServer, withHeaders }, { listen }, { Login }] = await Promise.all([
      import('../../server/assets.ts'),
      import('../../server/create-server.ts'),
      import('../../server/listen.ts'),
      import('../../server/login.ts'),
    ]);
    const by = await actorOf();
    const hosts = [...new Set(['localhost', '127.0.0.1', '[::1]', options.host])];
    const login = isLocal && options.write ? new Login(basePath, { role: 'admin', by }, hosts) : undefined;
    const { isUnanswered } = await import('../../lib/database.ts');
    const { describeDatabaseError, isAnyServerError } = await import('../../lib/server-trouble.ts');
    const server = createServer({
      ...(isLocal && {
        hosts,
        // A caller with a token expects its role, so refuse a wrong token instead of ignoring it.
        authorize: (request) =>
          request.headers.has('authorization') ? null : (login?.callerOf(request) ?? { role: 'viewer' }),
      }),
      ...(options.readUrl !== undefined && { readUrl: options.readUrl }),
      databaseUrl: url,
      basePath,
      write: options.write === true,
      onError(error) {
        const isTrouble = error instanceof TaskqError || isAnyServerError(error) || isUnanswered(error);
        if (isTrouble) context.output.complain(`taskq: ${describeDatabaseError(error, url)}`);
        else reportError(error, context.output);
      },
    });
    context.catchSignals('close');
    const fetch = async (request: Request) => {
      const answer = login?.answer(request);
      return answer === undefined ? zipped(request, await server.fetch(request)) : withHeaders(answer);
    };
    const { origin, close } = await listen(fetch, { host: options.host, port });
    await announce(context, { url: `${origin}${basePath}/`, login: login && `${origin}${login.link}` });
    if (!context.signal.aborted) await once(context.signal, 'abort');
    await Promise.all([close(), server.close()]);
  },
};

async function announce(
  { output }: Context,
  { url, login }: { readonly url: string; readonly login: string | undefined },
): Promise<void> {
  await output.answer({ url, login_url: login ?? null }, () =>
    login === undefined ? `serving ${url}` : `serving ${url}\nto write, open this once: ${login}`,
  );
}

async function refuseWithoutTokens(
  db: Awaited<ReturnType<Context['database']>>,
  host: string,
): Promise<void> {
  const { listTokens } = await import('../../queue/inspect/list-tokens.ts');
  if ((await listTokens(db)).length > 0) return;
  throw badOption(
    `--host ${host}: others can connect there, and no token exists`,
    'add one with taskq tokens add, or listen at 127.0.0.1',
  );
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw badOption(`--port ${JSON.stringify(text)}: expected a number from 0 to 65535`);
}

function basePathOf(text: string): string {
  if (/^\/[\w./~-]*$/.test(text)) return text.replace(/\/+$/, '');
  throw badOption(`--base-path ${JSON.stringify(text)}: expected a path such as /taskq`);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
