import { listTokens } from '../../queue/inspect/list-tokens.ts';
import { revokeToken } from '../../queue/operate/tokens.ts';
import { answers200 } from '../answers.ts';
import { camel } from '../camel.ts';
import { notFound } from '../problem.ts';
import { ok, type Route } from '../route.ts';
import { FLAG, input, listOf, record, ref } from '../schema.ts';

const list: Route = {
  method: 'GET',
  path: '/tokens',
  role: 'admin',
  queues: 'all',
  summary: 'List the tokens: names, roles, queues and times, never the tokens themselves.',
  answers: answers200('The tokens', record({ tokens: listOf(ref('Token')) })),
  async handle({ db }) {
    return ok({ tokens: (await listTokens(db)).map(camel) });
  },
};

const revoke: Route = {
  method: 'POST',
  path: '/tokens/{name}/revoke',
  role: 'admin',
  queues: 'all',
  summary: 'Remove a token: the next request with it is refused.',
  body: input({}),
  answers: answers200('It is revoked', record({ revoked: FLAG })),
  async handle({ path, db, acting }) {
    if (!(await revokeToken(db, path.name!, acting))) throw notFound('such token');
    return ok({ revoked: true });
  },
};

export const TOKENS: readonly Route[] = [list, revoke];
