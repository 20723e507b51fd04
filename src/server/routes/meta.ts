import { packageVersion } from '../../lib/package-root.ts';
import { getSample } from '../../queue/inspect/get-sample.ts';
import { getVitals } from '../../queue/inspect/get-vitals.ts';
import { checkSchema } from '../../queue/schema/check-schema.ts';
import { readRelease } from '../../queue/schema/schema-release.ts';
import { answers200 } from '../answers.ts';
import { ROLES } from '../caller.ts';
import { MOST_SERIES_OF, metricsOf } from '../metrics.ts';
import { TEXT_FORMAT, textOf } from '../prometheus.ts';
import { ok, type Route } from '../route.ts';
import { FLAG, MEMBERS, record, TEXT, TEXT_OR_NULL, WHOLE } from '../schema.ts';
import { TEXTS_OR_NULL } from '../schemas.ts';

const health: Route = {
  method: 'GET',
  path: '/healthz',
  isAtRoot: true,
  role: 'open',
  summary: 'Report that the server runs, without a query of the database.',
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
  summary: 'Report whether the database answers and its schema fits; 503 if not.',
  answers: answers200('It is ready', record({ ready: FLAG })),
  async handle({ db }) {
    await checkSchema(db);
    return ok({ ready: true });
  },
};

const metrics: Route = {
  method: 'GET',
  path: '/metrics',
  isAtRoot: true,
  role: 'viewer',
  queues: 'all',
  summary: 'Return the metrics of the queue and of this server for Prometheus. Reads no task.',
  answers: { 200: { description: 'The text format', schema: TEXT, type: TEXT_FORMAT } },
  async handle({ db, requests }) {
    const [sample, vitals] = await Promise.all([
      getSample(db, MOST_SERIES_OF),
      getVitals(db, MOST_SERIES_OF),
    ]);
    return ok(textOf(metricsOf({ sample, vitals, requests })));
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

const caller: Route = {
  method: 'GET',
  path: '/caller',
  role: 'viewer',
  summary:
    'Report the caller: the role, the name, the queues (null: all), whether writes are taken, and the version.',
  answers: answers200(
    'The caller',
    record({
      ...{ role: { type: 'string', enum: ROLES }, name: TEXT_OR_NULL, queues: TEXTS_OR_NULL, write: FLAG },
      ...{ version: TEXT, release: WHOLE },
    }),
  ),
  async handle({ caller: { role, by, queues }, takesWrites }) {
    const { number: release } = await readRelease();
    const version = packageVersion();
    return ok({ role, name: by ?? null, queues: queues ?? null, write: takesWrites, version, release });
  },
};

export const META: readonly Route[] = [health, ready, metrics, document, caller];
