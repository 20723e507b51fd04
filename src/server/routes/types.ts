import { checkedName } from '../../domain/names.ts';
import { nearest } from '../../lib/nearest.ts';
import { type ListedType, listTypes } from '../../queue/inspect/list-types.ts';
import { answers200 } from '../answers.ts';
import { camelWithSources } from '../camel.ts';
import { Problem } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { listOf, record, ref } from '../schema.ts';
import { COUNT_MS } from '../stats-body.ts';

const list: Route = {
  method: 'GET',
  path: '/types',
  role: 'viewer',
  queues: 'all',
  mayTakeLong: true,
  summary: 'List the known types.',
  answers: answers200('The types', record({ types: listOf(ref('Type')) })),
  async handle({ db }) {
    return ok({ types: (await listTypes(db, COUNT_MS)).map(camelWithSources) });
  },
};

const show: Route = {
  method: 'GET',
  path: '/types/{type}',
  role: 'viewer',
  queues: 'all',
  mayTakeLong: true,
  summary: 'Show a type: its settings, its breaker, and the workers that handle it.',
  answers: answers200('The type', ref('Type')),
  async handle(call) {
    return ok(camelWithSources(await shownType(call)));
  },
};

/** The type of a path as it is listed. Throws Problem. */
export async function shownType({ path, db }: Call): Promise<ListedType> {
  const name = checkedName('type', path.type);
  const types = await listTypes(db, COUNT_MS);
  const found = types.find((type) => type.name === name);
  if (found !== undefined) return found;
  const near = nearest(
    name,
    types.map((type) => type.name),
  );
  throw new Problem('not_found', { detail: 'there is no such type', nearest: near });
}

export const TYPE_READS: readonly Route[] = [list, show];
