// The SQL functions and columns of docs/reference.md, read from sql/.
import { readdir, readFile } from 'node:fs/promises';
import { headComment, kindsIn } from '../dist/queue/schema/head-comment.js';
import { table } from './table.mjs';

const functions = new URL('../sql/functions/api/', import.meta.url);

/** What workers and the commands call among themselves. */
const PROTOCOL = [
  'ask_ends',
  'begin_housekeeping',
  'begin_rescue',
  'begin_sample',
  'claim',
  'claim_one',
  'claim_optimistic',
  'complete',
  'complete_transaction',
  'count_unfinished',
  'due_vacuum',
  'end_rescue',
  'ensure_partitions',
  'find_missed',
  'fold_counts',
  'follow_task',
  'get_claimed',
  'get_orders',
  'get_release',
  'give_back',
  'heartbeat',
  'maintain',
  'mark_idle',
  'note',
  'notify_workers',
  'register_worker',
  'reload_worker',
  'rescue',
  'settle',
  'claim_context',
  'take_sample',
  'unmark_idle',
  'unregister_worker',
];

/** A table of the functions that an application or a person may call, and below it the names of the others. */
export async function sqlFunctions() {
  const all = await Promise.all(
    (await readdir(functions))
      .sort()
      .map(async (file) => functionIn(file, await readFile(new URL(file, functions), 'utf8'))),
  );
  const found = all.filter((one) => one !== null);
  const gone = PROTOCOL.find((name) => !found.some((one) => one.name === name));
  if (gone !== undefined) throw new Error(`sql/functions/api has no ${gone}`);
  const open = found.filter(({ name }) => !PROTOCOL.includes(name));
  const rows = open.map(({ name, takes, returns, says }) => [
    `\`taskq.${name}(${takes})\``,
    `\`${returns}\``,
    says,
  ]);
  const others = PROTOCOL.map((name) => `\`${name}\``).join(', ');
  return `${table(['function', 'returns', 'what it does'], rows)}
These are the protocol of the workers and the command line, and may change with each release: ${others}.
`;
}

/** docs/sql.md: every function as the catalogue describes it, by who calls it. */
export async function sqlManual() {
  const all = await Promise.all(
    (await readdir(functions)).sort().map(async (file) => {
      const text = await readFile(new URL(file, functions), 'utf8');
      const found = functionIn(file, text);
      return found && { ...found, comment: headComment(text), kinds: kindsIn(headComment(text)) };
    }),
  );
  const left = new Set(all.filter((one) => one !== null));
  const chapters = CHAPTERS.map(([title, about, holds]) => {
    const here = [...left].filter(({ kinds }) => holds(kinds));
    for (const one of here) left.delete(one);
    const index = here.map(({ name }) => `[${name}](#taskq${name})`).join(' · ');
    return `## ${title}\n\n${about}\n\n${index}\n\n${here.map(entry).join('\n')}`;
  });
  if (left.size > 0) throw new Error(`no chapter of docs/sql.md has ${[...left].map(({ name }) => name)}`);
  return chapters.join('\n');
}

/** A table of the values that each option may have, as the error for another value names them. */
export async function optionValues() {
  const text = await readFile(new URL('../internal/bad_option.sql', functions), 'utf8');
  const duration = /duration constant text := '([^']+)'/.exec(text)[1];
  const found = text.matchAll(
    /when _option (?:= '(\w+)'|in \(([^)]+)\)) then\s+((?:(?:'[^']*'|duration)\s*(?:\|\|\s*)?)+)/g,
  );
  const rows = [...found].map(([, one, several, value]) => [
    (one ?? several.replaceAll("'", ''))
      .split(', ')
      .map((name) => `\`${name}\``)
      .join(', '),
    value
      .replace(/^duration\b/, `'${duration}'`)
      .replaceAll(/'\s*\|\|\s*'|\s*$/g, '')
      .slice(1, -1),
  ]);
  return table(
    ['option', 'what it may be'],
    rows.slice(0, rows.findIndex(([name]) => name === '`backoff`') + 1),
  );
}

const CHAPTERS = [
  [
    'Every session',
    'What a client asks first.',
    (kinds) => kinds.includes('producer') && kinds.includes('worker'),
  ],
  ['Enqueueing and waiting', 'What producers call.', (kinds) => kinds.includes('producer')],
  [
    'Working',
    'What workers call. Of these, a worker of yours needs `register_worker`, `claim`, `heartbeat`, `settle` and ' +
      '`unregister_worker`; the others are housekeeping, and what the daemon and the tests of handlers need. They may ' +
      'change with each release.',
    (kinds) => kinds.some((kind) => kind.startsWith('worker')) && !kinds.includes('operator'),
  ],
  ['Looking', 'What readers call, and operators too.', (kinds) => kinds.includes('reader')],
  ['Acting', 'What operators call.', (kinds) => kinds.includes('operator')],
];

function entry({ name, takes, returns, comment }) {
  const paragraphs = comment
    .replaceAll(/^(Arguments|Granted to): /gm, '\n$1: ')
    .replaceAll(/^ {2}(\S+) +/gm, '* `$1` ')
    .replaceAll(/\n(?=\* )/g, '\n');
  return `### taskq.${name}\n\n\`${name}(${takes})\` returns \`${returns}\`\n\n${paragraphs}\n`;
}

function functionIn(file, text) {
  const [, name, takes, returns] =
    /^create or replace function taskq\.(\w+)\(([\s\S]*?)\)\nreturns ([\s\S]*?)\nlanguage /m.exec(text) ?? [];
  if (name === undefined) {
    if (/^create or replace view /m.test(text)) return null;
    throw new Error(`sql/functions/api/${file} has no function in the usual form`);
  }
  return { name, takes: line(takes), returns: line(returns), says: sayingOf(text) };
}

/** The first sentence of the comment, and the one that says what the answers mean. */
function sayingOf(text) {
  const comment = line(text.slice(0, text.search(/^create /m)).replaceAll(/^-- ?/gm, ''));
  const [first, ...others] = comment.split(/(?<=[.]\)?) /);
  const answers = others.find((sentence) => sentence.startsWith('Returns '));
  return answers === undefined ? first : `${first} ${answers}`;
}

function line(text) {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\( | \)/g, (mark) => mark.trim())
    .trim();
}

/** The columns of taskq.all_tasks. */
export async function taskColumns() {
  const view = await readFile(new URL('all_tasks.sql', functions), 'utf8');
  const outer = /^ {2}a\.\*,\n([\s\S]*?)\nfrom \(\n/m.exec(view)[1];
  const first = /^from \(\n {2}select\n([\s\S]*?)\n {2}from taskq\.tasks t$/m.exec(view)[1];
  const names = [...topLevel(first), ...topLevel(outer)].map(nameOf);
  const types = {
    ...(await columnsOf('tasks')),
    ...(await columnsOf('finished_tasks')),
    ...(await columnsOf('dead_tasks')),
  };
  const derived = {
    updated_at: 'timestamptz',
    lease_owner: 'text',
    applies: 'jsonb',
    times_out_at: 'timestamptz',
    waits_for: 'text',
  };
  return described('taskq.all_tasks', names, { ...types, ...derived }, TASK_COLUMNS);
}

/** The columns of taskq.audit. */
export async function auditColumns() {
  const types = await columnsOf('audit');
  const verb = `one of ${(await recordedVerbs()).map((name) => `\`${name}\``).join(', ')}`;
  return described('taskq.audit', Object.keys(types), types, { ...AUDIT_COLUMNS, verb });
}

/** The verbs that functions record, in order. */
async function recordedVerbs() {
  const all = new URL('..', functions);
  const names = (await readdir(all, { recursive: true })).filter((name) => name.endsWith('.sql'));
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, all), 'utf8')));
  const verbs = texts.flatMap((text) =>
    [...text.matchAll(/record_action\(\s*'([^']+)'/g)].map(([, verb]) => verb),
  );
  return [...new Set(verbs)].sort();
}

function described(relation, names, types, says) {
  const untyped = names.find((name) => types[name] === undefined);
  if (untyped !== undefined) throw new Error(`${untyped} of ${relation} has no type here`);
  const odd = [
    ...names.filter((name) => !(name in says)),
    ...Object.keys(says).filter((name) => !names.includes(name)),
  ];
  if (odd.length > 0) throw new Error(`${relation} and its description differ in ${odd.join(', ')}`);
  return table(
    ['column', 'type', 'what it is'],
    names.map((name) => [`\`${name}\``, `\`${types[name].replace('taskq.', '')}\``, says[name]]),
  );
}

/** Split at the commas that are in no parentheses. */
function topLevel(list) {
  const parts = [''];
  let depth = 0;
  for (const letter of list) {
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    if (letter === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  return parts;
}

function nameOf(expression) {
  return /(\w+)\s*$/.exec(expression)[1];
}

async function columnsOf(relation) {
  const directory = new URL('../sql/migrations/', import.meta.url);
  for (const file of await readdir(directory)) {
    const text = await readFile(new URL(file, directory), 'utf8');
    const body = new RegExp(`^create table taskq\\.${relation} \\(\\n([\\s\\S]*?)^\\)`, 'm').exec(text)?.[1];
    if (body === undefined) continue;
    const lines = body.matchAll(/^ {2}(?!constraint |primary )(\w+) ((?:taskq\.)?\w+(?:\[\])?)/gm);
    return Object.fromEntries([...lines].map(([, name, type]) => [name, type]));
  }
  throw new Error(`sql/migrations has no table taskq.${relation}`);
}

const TASK_COLUMNS = {
  id: 'id, forever the same',
  queue: 'queue',
  type: 'name of its handler',
  priority: '0 (most urgent) to 9',
  status: '`blocked`, `pending`, `leased`, `running`, `completed`, `cancelled`, `expired` or `dead`',
  payload: 'argument of its handler',
  tags: 'names and values to find it by',
  attempts: 'failed attempts so far',
  losses: 'workers lost while they held it, since a handler last reported an outcome',
  releases: 'times it was given back after it had started, since the last outcome',
  max_attempts: 'its own option; null: see `applies`',
  available_at:
    'when it may start, also for a retry; null while it waits for a slot of its group or for its parents, and once it has ended',
  not_before: 'the requested start',
  created_at: 'when it was enqueued',
  started_at: 'when its last attempt started',
  finished_at: 'when it completed, was cancelled, expired or died',
  updated_at: 'latest of creation, start, cancel request, last error and end',
  lease_no: 'number that its last claim has drawn',
  lease_owner: 'name of the worker that holds it or held it last',
  lease_expires_at: 'until when its worker holds it without a heartbeat',
  expires_at: 'it does not start after this time',
  timeout_ms: 'its own option',
  backoff: 'its own option',
  retention: 'its own option',
  unique_key: 'its key',
  group_key: 'its group',
  workflow_id: 'its workflow',
  step: 'its name in the workflow; null: it is no step, but was enqueued because one has ended',
  created_by: 'database role that enqueued it',
  source:
    'where it comes from: `rerun of 12`, `again of 12`, `follow-up of 12`, `on_complete of 12`, `on_dead of 12`, `schedule:<name>@<tick>`, or what its producer wrote',
  traceparent: "the producer's W3C trace context",
  cancel_requested_at: 'when its worker was asked to end it',
  cancel_reason: 'why it was cancelled',
  progress: 'what its handler last reported: `{value, text, at}`',
  error: 'its last error',
  result: 'what its handler returned',
  result_note: 'what remains of a result that could not be stored',
  reason: 'why it is dead',
  by_hand: 'it was made a dead letter by hand',
  ending: 'of a cancelled task that did not end by itself: `killed` or `worker_lost`',
  again: 'the task that runs after it: `id`, `at` and `payload`',
  waits_for: '`parents` of its step, or `slot` of its group; null: it waits for neither',
  applies: 'settings in effect, each with its `value` and where it is `from`: task, type, queue or defaults',
  times_out_at: 'when the attempt of a running task exceeds its timeout; null: no timeout',
};

const AUDIT_COLUMNS = {
  id: 'number of the action',
  at: 'when',
  role: 'database role of the session',
  by: 'name that the caller added (`--by`)',
  via: 'application_name of the session, such as `taskq dead revive` or `psql`',
  task_ids: 'the tasks it was done to',
  queue: 'the queue it was done to',
  worker: 'the worker it was done to',
  type: 'the type it was done to',
  filter: 'what the tasks were chosen by; null: ids',
  before: 'what an operator had set of it before; null in it: nothing; of `edit` what was before, by task',
  settings: 'what was set; null in it: removed; `group`, `schedule` or `workflow`, if it was done to one',
  reason: 'the reason given',
};
