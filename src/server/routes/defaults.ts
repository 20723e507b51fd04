import { DEFAULT_SETTINGS } from '../../domain/setting-tables.ts';
import { getDefaults, setDefaults } from '../../queue/operate/defaults.ts';
import { answers200 } from '../answers.ts';
import { camel } from '../camel.ts';
import { ok, type Route } from '../route.ts';
import { ref } from '../schema.ts';
import { changesIn, settingsInput } from './settings.ts';

const show: Route = {
  method: 'GET',
  path: '/defaults',
  role: 'viewer',
  queues: 'all',
  summary: 'Show the defaults for all tasks, and where each comes from.',
  answers: answers200('The defaults, by name', ref('Defaults')),
  async handle({ db }) {
    return ok(camel(await getDefaults(db)));
  },
};

const set: Route = {
  method: 'PATCH',
  path: '/defaults',
  role: 'admin',
  queues: 'all',
  summary: 'Override defaults of the configuration of workers; null removes one, others stay.',
  body: settingsInput(DEFAULT_SETTINGS),
  answers: answers200('The defaults, by name', ref('Defaults')),
  async handle({ db, body, acting }) {
    await setDefaults(db, changesIn(DEFAULT_SETTINGS, body), acting);
    return ok(camel(await getDefaults(db)));
  },
};

export const DEFAULTS: readonly Route[] = [show, set];
