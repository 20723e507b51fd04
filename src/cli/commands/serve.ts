import { once } from 'node:events';
import { badOption } from '../../lib/bad-option.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import { actingOf } from '../run/operator.ts';
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
      .option('--write', 'take writes; at this machine, print a link that lets a browser in')
      .option('--read-url <url>', 'read from this standby')
      .addHelpText(
        'after',
        `
Without --write every session with the database is read-only. At an address of this machine whoever can connect may
read. At any other address every request needs a token (taskq tokens add), and there must be one. See docs/http.md.`,
      );
  },
  async run(context, { options }) {
    const port = portOf(options.port);
    const basePath = basePathOf(options.basePath);
    const isLocal = isLoopback(options.host);
    const { url } = await context.chosenDatabase();
    const db = await context.database();
    if (!isLocal) await refuseWithoutTokens(db, options.host);
    const [{ createServer }, { listen }, { Login }] = await Promise.all([
      import('../../server/create-server.ts'),
      import('../../server/listen.ts'),
      import('../../server/login.ts'),
    ]);
    const by = await actingOf({});
    const login = isLocal && options.write ? new Login(basePath, { role: 'admin', by }) : undefined;
    const { isUnanswered } = await import('../../lib/database.ts');
    const { describeDatabaseError, isAnyServerError } = await import('../../lib/server-trouble.ts');
    const server = createServer({
      ...(isLocal && {
        hosts: [...new Set(['localhost', '127.0.0.1', '[::1]', options.host])],
        authorize: (request) => login?.callerOf(request) ?? { role: 'viewer' },
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
    context.catchSignals();
    const fetch = async (request: Request) => login?.answer(request) ?? server.fetch(request);
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
