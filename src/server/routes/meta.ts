import { checkSchema } from '../../queue/schema/check-schema.ts';
import { answers200 } from '../answers.ts';
import { ok, type Route } from '../route.ts';
import { FLAG, MEMBERS, record } from '../schema.ts';

const health: Route = {
  method: 'GET',
  path: '/healthz',
  isAtRoot: true,
  role: 'open',
  summary: 'Say that the server runs. Asks the database nothing.',
  answers: answers200('It runs', record({ healthy: FLAG })),
  async handle() {
    return ok({ healthy: true });
  },
};

const ready: Route = {
  method: 'GET',
  path: '/readyz',
  isAtRoot: true,
  role: 'viewer',
  summary: 'Say whether the database answers and its schema fits; 503 if not.',
  answers: answers200('It is ready', record({ ready: FLAG })),
  async handle({ db }) {
    await checkSchema(db);
    return ok({ ready: true });
  },
};

const document: Route = {
  method: 'GET',
  path: '/openapi.json',
  role: 'viewer',
  summary: 'Return the OpenAPI document of these routes.',
  answers: answers200('OpenAPI 3.1', MEMBERS),
  async handle() {
    // The document describes this table, too.
    const { openApi } = await import('../openapi.ts');
    return ok(openApi());
  },
};

export const META: readonly Route[] = [health, ready, document];
