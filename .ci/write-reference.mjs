// Writes docs/reference.md and docs/sql.md from the code: `npm run tables`. With --check it fails where one of them is out
// of date instead.
import { readFile, writeFile } from 'node:fs/promises';
import { COMMANDS } from '../dist/cli/commands.js';
import { buildProgram, takesOf } from '../dist/cli/program.js';
import { EXIT_CODES } from '../dist/cli/run/exit-codes.js';
import { flagOf } from '../dist/cli/select/task-filter.js';
import { describeSettings } from '../dist/config/describe-config.js';
import { ERROR_CODES } from '../dist/lib/error-codes.js';
import { FILTER_NAMES, FILTERED } from '../dist/queue/inspect/task-filter.js';
import { openApi } from '../dist/server/openapi.js';
import { PROBLEM_CODES } from '../dist/server/problem.js';
import { fullPathOf } from '../dist/server/route.js';
import { ROUTES } from '../dist/server/route-table.js';
import { EVENTS } from '../dist/worker/log/events.js';
import { declarationOf, membersOf } from './declared.mjs';
import { auditColumns, optionValues, sqlFunctions, sqlManual, taskColumns } from './sql-reference.mjs';
import { table } from './table.mjs';

const reference = `# Reference

Generated from the code (\`npm run tables\`). A duration is text such as \`500ms\`, \`30s\`, \`1h30m\`, \`7d\` or \`PT10M\`;
in TypeScript it can also be a number of milliseconds.

[Commands](#commands) · [Options of commands](#options-of-commands) · [Filters](#filters) ·
[Exit codes](#exit-codes) · [Error codes](#error-codes) · [Settings](#settings) · [Log events](#log-events) ·
[Handlers](#handlers) · [The library](#the-library) · [HTTP](#http) · [SQL](#sql)

## Commands

Every command prints data to stdout and everything else to stderr. With \`--json\` it prints one document (\`events\`
and \`show --follow\`: one a line): keys are the names of columns, ids are strings, and numbers of any size are exact.

${await summaries()}
## Options of commands

Every command takes these:

${await commands()}
## Filters

A command refuses a filter that it does not take, with the reason. \`--since\` and \`--before\` are about when a task ended
or, if it is still live, when it was created; both take a time or a duration back from now.

${filters()}
${reasons()}
## Exit codes

${exitCodes()}
## Error codes

The \`code\` of a \`TaskqError\`, which \`--json\` prints on stderr as \`{"error": {"code", "message", "hint"}}\`. An
error with the code \`bug\` and a \`stack\` is a fault of taskq: please report it.

${errorCodes()}
## Settings

In increasing precedence: defaults, a configuration file (\`taskq.config.{ts,js,mjs,cjs,json,yaml}\`,
\`.taskqrc\`, \`package.json#taskq\`), environment variables, flags.
\`taskq config\` prints each value and where it comes from. A misspelt key of a file is an error; of a misspelt variable,
stderr says which setting is near.

${settings()}
## Log events

A worker writes JSON lines to stdout, or coloured text at a terminal; what handlers print goes to stderr. Each line
has \`time\`, \`level\`, \`event\` and \`msg\`. What a handler passes to \`ctx.log\` is in \`fields\` of its line.

${events()}
## Handlers

### \`ctx\`, the second argument of a handler

${await members('worker/handlers/handler', 'TaskContext')}
### \`ctx.log\`

${await members('worker/handlers/handler', 'TaskLog')}
### What a handler may set for its type

${await members('worker/handlers/handler', 'HandlerOptions', 'HandlerDefinition')}
### A back-off

${await members('domain/backoff', 'Backoff')}
## The library

### \`new TaskQueue(options)\`

${await members('library/task-queue-options', 'TaskQueueOptions')}
### A \`TaskQueue\`

${await members('library/task-queue', 'TaskQueue')}
### \`enqueue(type, payload, options)\`

In SQL (\`taskq.enqueue\`, \`taskq.enqueue_many\`) options have the names in the second column, durations are numbers of
milliseconds, and a back-off has \`base_ms\` and \`max_ms\`.

${await enqueueOptions()}
${await members('library/task-queue-options', 'Joining')}
### \`enqueueMany(tasks, options)\`

Each task takes the options of \`enqueue\`. The call takes those about the transaction and this one:

${await members('library/task-queue-options', 'EnqueueManyOptions')}
### \`wait(id, options)\`

${await members('library/task-queue-options', 'WaitOptions')}
### What \`wait\` resolves to

\`\`\`ts
import type { ResultNote, StoredError } from 'taskq';

${await declarationOf('library/task-end', 'TaskEnd')}
\`\`\`

### What \`get\` resolves to

\`undefined\` if there is no such task. Otherwise this, with \`errors\` (its failed attempts) and \`actions\` (what people
did to it), both oldest first. The items of \`list(filter)\` and \`page()\` have neither.

${await members('library/task-record', 'TaskRecord')}
Each of \`errors\`:

${await members('library/task-record', 'AttemptRecord')}
Each of \`actions\`:

${await members('library/task-record', 'ActionRecord')}
### \`revive(id, options)\`, \`rerun(id, options)\`

${await members('library/task-queue-options', 'ReviveSettings')}
### \`edit(id, changes)\`

${await members('domain/edit-changes', 'EditChanges')}
### \`list(filter)\`

${await members('queue/inspect/task-filter', 'ListFilter')}
### \`list(filter).page(options)\`

${await members('library/task-list', 'PageOptions')}
### What \`list(filter)\` can do

${await members('library/task-list', 'TaskList')}
### \`list(filter).cancel(options)\`, \`retry\`, \`edit(changes, options)\`, \`rerun\`, \`revive\`, \`purge\`, \`discard\`

All take these:

${await members('library/task-list', 'BulkSettings')}
\`cancel\` takes a \`reason\`, \`rerun\` a \`payload\` and a \`delay\`, and \`revive\` all of these:

${await members('library/task-list', 'ReviveManySettings')}
### The figures of \`stats({ since })\`

${await members('library/figures', 'Figures')}
### \`metrics(options)\`

${await members('library/metrics-records', 'MetricsOptions')}
Each record:

${await members('library/metrics-records', 'MetricsRecord')}
### \`pauseQueue(queue, options)\`

${await members('library/queue-pause', 'PauseSettings')}
### \`setQueue(queue, settings)\`, and \`queueSettings\` of a configuration

\`setQueue\` takes null too, which removes a setting.

${await members('config/task-settings', 'QueueInput')}
### \`setType(type, settings)\`, and \`taskTypes\` of a configuration

\`setType\` takes null too, which removes a setting.

${await members('config/task-settings', 'TaskTypeInput')}
### A group of \`listGroups(queue)\`

${await members('library/group-records', 'GroupRecord')}
### What \`showGroup(queue, group)\` adds

${await members('library/group-records', 'GroupDetails')}
Each of \`holders\`:

${await members('library/group-records', 'SlotHolder')}
Each of \`next\`:

${await members('library/group-records', 'SlotCandidate')}
### \`migrate(options)\`

${await members('library/migrate-for', 'MigrateSettings')}
### \`queue.schedules\`

${await members('library/schedules', 'Schedules')}
### A schedule for \`schedules.set(name, schedule)\`, and \`schedules\` of a configuration

It also takes the [options of a task](#enqueuetype-payload-options), except \`at\`. In SQL (\`taskq.set_schedule\`) the
jitter is \`jitter_ms\`. A configuration has no \`allowUnknown\` and no \`by\`.

${await members('library/schedules', 'ScheduleSettings')}
${await members('domain/schedule/definition', 'ScheduleOptions')}
### \`schedules.preview(expression, options)\`

${await members('library/schedules', 'PreviewSettings')}
### A schedule of \`schedules.list()\` and \`schedules.get(name)\`

${await members('library/schedules', 'ScheduleRecord')}
### \`queue.workflow(name, options)\`

${await members('domain/workflow/workflow-options', 'WorkflowOptions')}
It returns a builder with \`task(step, type, payload, options)\`, which takes the
[options of a task](#enqueuetype-payload-options) except \`workflow\` and \`step\`, and \`start(options)\`, which takes
\`client\`, \`allowUnknown\`, \`notify\` and \`notifyDone\` and returns the \`id\` of the workflow and \`steps\`, the ids of
its tasks by step.

### \`queue.workflows\`

${await members('library/workflows', 'Workflows')}
### \`listKeys(filter)\`

${await members('library/key-records', 'KeyFilter')}
### A key of \`listKeys\`

${await members('library/key-records', 'KeyRecord')}
### A group of \`deadGroups\`

${await members('library/dead-group-records', 'DeadGroupRecord')}
### \`audit(filter)\`

${await members('library/audit-records', 'AuditFilter')}
### An action of \`audit\`

${await members('library/audit-records', 'AuditRecord')}
### \`createWorker(options)\`

${await members('library/worker-options', 'CreateWorkerOptions')}
### A worker of \`createWorker\`

${await members('library/create-worker', 'TaskWorker')}
### \`runTask(id, options)\`, \`runAttempt(id, options)\` of \`taskq/testing\`

${await members('testing', 'TestOptions')}
### \`createServer(options)\` of \`taskq/serve\`

${await members('server/server-options', 'ServerOptions')}
## HTTP

The [routes](http.md) of \`taskq serve\`, with the least role that may call each; a role may do what those before it may:
viewer, producer, operator, admin. \`api/v1/openapi.json\` describes bodies and answers.

${routes()}
### Problems

The \`code\` of a problem: one of these, or that of an [error](#error-codes).

${problems()}
## SQL

Every function is in the schema \`taskq\`, and needs only \`execute\` on it. Those that operate take a name for
\`taskq.audit\`: \`by\` in \`options\`, or \`_by\`. The comment that opens its file in \`sql/functions/api\` says more
of each.

${await sqlFunctions()}
### The view \`taskq.all_tasks\`

Every task, waiting, held, finished or dead.

${await taskColumns()}
### The table \`taskq.audit\`

One row for each call of a verb.

${await auditColumns()}`;

const manual = `# SQL

Generated from the code (\`npm run tables\`). The database has the same text:

\`\`\`sql
select p.oid::regprocedure, obj_description(p.oid, 'pg_proc')
from pg_proc p where p.pronamespace = 'taskq'::regnamespace and obj_description(p.oid, 'pg_proc') is not null
order by 1;
\`\`\`

All of taskq is SQL functions in the schema \`taskq\`; the daemon, the commands and the library call nothing else. They run
with the rights of the owner of the schema, so a caller needs no right on a table, only EXECUTE on the function:
[\`taskq grants\`](production.md#roles) gives each kind of role what it needs.

* Names that end in \`_ms\` are milliseconds, in \`_us\` microseconds since the epoch; times are \`timestamptz\`. Ids of tasks
  are \`bigint\`, and text in JSON.
* \`_worker\` is the id of a worker, from \`register_worker\`; \`_id\` and \`_ids\` are those of tasks (of workflows, where
  the name of the function says so); a lease is the \`id\` and the \`lease_no\` of a claim.
* \`options\` is a JSON object. An unknown name in the options of a task, of settings or of a filter is an error (22023).
* A function that answers for many ids returns a row for each, with an \`answer\`; \`extra\` is JSON with more, and null
  if there is no more.
* A call takes effect with the caller's transaction, and not at all if that is rolled back. Workers should commit each
  call at once: no other session sees a claim in an open transaction.
* Who acts is the role of the session (\`session_user\`), which \`set role\` does not change. The name given as \`by\` stands
  beside it.
* The time is that of the database's clock, also in a transaction that began long ago.

Examples that run: [a worker in psql](../examples/worker.sql), [a worker in Python](../examples/worker.py), [a trigger that
enqueues](../examples/trigger.sql).

${await sqlManual()}
## Values of options and settings

${await optionValues()}`;

for (const [name, written] of [
  ['reference.md', reference],
  ['sql.md', manual],
  ['openapi.json', `${JSON.stringify(openApi(), null, 1)}\n`],
]) {
  const file = new URL(`../docs/${name}`, import.meta.url);
  if (!process.argv.includes('--check')) await writeFile(file, written);
  else if (written !== (await readFile(file, 'utf8').catch(() => '')))
    throw new Error(`docs/${name} is out of date: run npm run tables`);
}

async function members(path, ...declared) {
  const found = (await Promise.all(declared.map((name) => membersOf(path, name)))).flat();
  const rows = found.map(({ name, optional, type, says }) => [
    code(name),
    type === null ? '' : code(type),
    needed(optional, type),
    says,
  ]);
  return table(['name', 'type', '', 'what it is'], rows);
}

async function enqueueOptions() {
  const path = 'domain/enqueue-options';
  const stored = await readFile(new URL(`../dist/${path}.d.ts`, import.meta.url), 'utf8');
  const inSql = (name) => {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const found = [snake, `${snake}_ms`].find((one) => new RegExp(`^ {4}${one}\\?: `, 'm').test(stored));
    if (found === undefined) throw new Error(`${name} of EnqueueOptions has no name in StoredEnqueueOptions`);
    return found;
  };
  const rows = (await membersOf(path, 'EnqueueOptions')).map(({ name, type, says }) => [
    code(name),
    code(inSql(name)),
    code(type),
    says,
  ]);
  return table(['name', 'in SQL', 'type', 'what it is'], rows);
}

/** Commands that take the same filters share a column. */
function filters() {
  const verbs = alike(Object.keys(FILTERED), (verb) => JSON.stringify(FILTERED[verb]));
  const rows = FILTER_NAMES.map((name) => [
    code(flagOf(name)),
    ...verbs.map(([verb]) => (FILTERED[verb].not[name] === undefined ? 'yes' : '')),
  ]);
  const titles = verbs.map((same) => same.map(code).join(', '));
  const statuses = verbs.map(([verb]) => FILTERED[verb].statuses.join(', '));
  return table(['', ...titles], [['acts on', ...statuses], ...rows]);
}

function reasons() {
  const codes = (names) => [...new Set(names)].map(code).join(', ');
  const why = Object.entries(FILTERED).flatMap(([verb, { not }]) =>
    Object.entries(not).map(([name, reason]) => ({ verb, flag: flagOf(name), reason })),
  );
  return alike(why, ({ reason }) => reason)
    .map((same) => {
      const flags = codes(same.map(({ flag }) => flag));
      const verbs = codes(same.map(({ verb }) => verb));
      return `* ${flags} of ${verbs}: ${same[0].reason}\n`;
    })
    .join('');
}

/** Group items with the same `by`. */
function alike(all, by) {
  const groups = new Map();
  for (const one of all) groups.set(by(one), [...(groups.get(by(one)) ?? []), one]);
  return [...groups.values()];
}

async function commands() {
  const names = COMMANDS.flatMap(({ entries }) => entries);
  const below = await Promise.all(names.map(async ({ load }) => (await load()).subcommands ?? []));
  const argv = [...names, ...below.flat()].map(({ name }) => name);
  const program = await buildProgram(argv, async () => {});
  const parts = [optionsOf(program)];
  const walk = (command, path) => {
    const children = command.commands.filter((child) => child.name() !== 'help');
    if (path !== '' && children.length === 0) parts.push(section(command, path));
    for (const child of children) walk(child, `${path} ${child.name()}`.trim());
  };
  walk(program, '');
  return parts.join('\n');
}

function section(command, path) {
  const takes = takesOf(command).replace(/\[options\] ?/, '');
  const options = optionsOf(command);
  return `### \`taskq ${path}${takes === '' ? '' : ` ${takes}`}\`\n\n${sentence(command.description())}\n${options === '' ? '' : `\n${options}`}`;
}

function optionsOf(command) {
  const rows = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ flags, description, defaultValue }) => [
      code(flags),
      typeof defaultValue === 'string' ? `${description} (${defaultValue})` : description,
    ]);
  return rows.length === 0 ? '' : table(['option', 'what it does'], rows);
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function needed(optional, type) {
  return optional || type === null ? '' : 'always';
}

function code(text) {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function settings() {
  const rows = describeSettings().map(({ key, env, flag, default: standard, help }) => [
    `\`${key}\``,
    env === '' ? '' : `\`${env.replaceAll(', ', '`, `')}\``,
    flag === '' ? '' : `\`${flag}\``,
    standard,
    help,
  ]);
  return table(['key', 'environment', 'flag', 'default', 'what it is'], rows);
}

async function summaries() {
  const rows = COMMANDS.flatMap(({ entries }) => entries).map(async ({ name, summary, load }) => {
    const { subcommands } = await load();
    if (subcommands === undefined) return [[`\`taskq ${name}\``, summary]];
    return subcommands.map((below) => [`\`taskq ${name} ${below.name}\``, below.summary]);
  });
  return table(['command', 'what it does'], (await Promise.all(rows)).flat());
}

function routes() {
  const rows = ROUTES.map((route) => [
    code(`${route.method} ${fullPathOf(route)}`),
    route.role,
    route.summary,
    [
      ...Object.keys(route.query ?? {}).map((name) => code(`?${name}`)),
      ...(route.body ? [bodyOf(route)] : []),
    ].join(' '),
  ]);
  return table(['route', 'role', 'what it does', 'takes'], rows);
}

function bodyOf({ body }) {
  return Object.keys(body.properties).map(code).join(' ');
}

function problems() {
  const rows = Object.entries(PROBLEM_CODES).map(([name, [status, meaning]]) => [
    code(name),
    status,
    meaning,
  ]);
  return table(['code', 'status', 'what happened'], rows);
}

function exitCodes() {
  return table(
    ['exit code', 'meaning'],
    EXIT_CODES.map(({ codes, meaning }) => [codes.join(', '), meaning]),
  );
}

function errorCodes() {
  const rows = Object.entries(ERROR_CODES).map(([name, { meaning, remedy }]) => [
    code(name),
    meaning,
    remedy,
  ]);
  return table(['code', 'what happened', 'what to do'], rows);
}

function events() {
  return table(
    ['event', 'level', 'what happened', 'fields'],
    Object.entries(EVENTS).map(([name, [level, message, fields]]) => [
      `\`${name}\``,
      level,
      message,
      fields.map((field) => `\`${field}\``).join(' '),
    ]),
  );
}
