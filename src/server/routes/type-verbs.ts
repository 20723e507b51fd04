import { checkedName } from '../../domain/names.ts';
import { TYPE_SETTINGS } from '../../domain/setting-tables.ts';
import { addTypes } from '../../queue/operate/add-types.ts';
import { removeType } from '../../queue/operate/remove-type.ts';
import { resumeType } from '../../queue/operate/resume-type.ts';
import { setType } from '../../queue/operate/set-type.ts';
import { answers200, wrongState } from '../answers.ts';
import { camelWithSources } from '../camel.ts';
import { notFound } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { FLAG, input, record, ref, TEXT } from '../schema.ts';
import { changesIn, settingsInput } from './settings.ts';
import { shownType } from './types.ts';

const add: Route = {
  method: 'PUT',
  path: '/types/{type}',
  role: 'operator',
  queues: 'all',
  summary: 'Make a type known before any worker registers it. 201: it was not known.',
  body: input({}),
  answers: {
    ...answers200('It was known', ref('Type')),
    201: { description: 'It is new', schema: ref('Type') },
  },
  async handle(call) {
    const [added] = await addTypes(call.db, [typeOf(call)], call.acting);
    return { status: added!.added ? 201 : 200, body: camelWithSources(await shownType(call)) };
  },
};

const set: Route = {
  method: 'PATCH',
  path: '/types/{type}',
  role: 'admin',
  queues: 'all',
  summary:
    'Change settings for the tasks of a type; null removes one, others stay. An unknown type becomes known.',
  body: settingsInput(TYPE_SETTINGS),
  answers: answers200('The type', ref('Type')),
  async handle(call) {
    await setType(call.db, typeOf(call), changesIn(TYPE_SETTINGS, call.body), call.acting);
    return ok(camelWithSources(await shownType(call)));
  },
};

const resume: Route = {
  method: 'POST',
  path: '/types/{type}/resume',
  role: 'operator',
  queues: 'all',
  summary: 'Close the open breaker of a type. `resumed` is false if it was not open.',
  body: input({}),
  answers: answers200('Whether it was open', record({ resumed: FLAG })),
  async handle(call) {
    return ok({ resumed: await resumeType(call.db, typeOf(call), call.acting) });
  },
};

const remove: Route = {
  method: 'DELETE',
  path: '/types/{type}',
  role: 'admin',
  queues: 'all',
  summary: 'Make a type unknown, and delete its settings. A type that a live worker handles stays (409).',
  answers: answers200('It is unknown', record({ answer: TEXT })),
  async handle(call) {
    const answer = await removeType(call.db, typeOf(call), call.acting);
    if (answer === 'not_known') throw notFound('such type');
    if (answer === 'handled') throw wrongState('the type', answer);
    return ok({ answer });
  },
};

function typeOf({ path }: Call): string {
  return checkedName('type', path.type);
}

export const TYPE_VERBS: readonly Route[] = [add, set, resume, remove];
