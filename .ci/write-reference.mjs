// Writes docs/reference.md from the code: `npm run tables`. With --check it fails where that is out of date instead.
import { readFile, writeFile } from 'node:fs/promises';
import { COMMANDS } from '../dist/cli/commands.js';
import { buildProgram } from '../dist/cli/program.js';
import { flagOf } from '../dist/cli/task-filter.js';
import { FILTER_NAMES, FILTERED } from '../dist/queue/task-filter.js';
import { membersOf } from './declared.mjs';
import { table } from './table.mjs';

const file = new URL('../docs/reference.md', import.meta.url);
const written = `# Reference

Generated from the code (\`npm run tables\`): what a handler is given and may say, what the library takes, and the options of
every command. What they mean together is told in the [README](../README.md); settings, events and exit codes have their
tables there. A duration is text such as \`500ms\`, \`30s\`, \`10m\`, \`2h\`, \`7d\`, \`1h30m\` or \`PT10M\`, or a number of milliseconds.

## Handlers

### \`ctx\`, what a handler is given beside its payload

${await members('worker/handlers/handler', 'TaskContext')}
### \`ctx.log\`

${await members('worker/handlers/handler', 'TaskLog')}
### What a handler may say of its type

${await members('worker/handlers/handler', 'HandlerOptions', 'HandlerDefinition')}
### A back-off

${await members('domain/backoff', 'Backoff')}
## The library

### \`new TaskQueue(options)\`

${await members('queue/task-queue', 'TaskQueueOptions')}
### A \`TaskQueue\`

${await members('queue/task-queue', 'TaskQueue')}
### \`enqueue(type, payload, options)\`

In SQL (\`taskq.enqueue\`, \`taskq.enqueue_many\`) an option has the name of the second column, and a duration is a number of
milliseconds; a back-off has \`base_ms\` and \`max_ms\` there.

${await enqueueOptions()}
${await members('queue/task-queue', 'Joining')}
### \`enqueueMany(tasks, options)\`

Each task takes the options of \`enqueue\`; the call takes those about the transaction, and

${await members('queue/task-queue', 'EnqueueManyOptions')}
### \`wait(id, options)\`

${await members('queue/task-queue', 'WaitOptions')}
### \`revive(id, options)\`, \`rerun(id, options)\`

${await members('queue/task-queue', 'ReviveSettings')}
### \`list(filter)\`

${await members('queue/task-filter', 'ListFilter')}
### \`list(filter).page(options)\`

${await members('queue/task-list', 'PageOptions')}
### \`list(filter).rerun(options)\`

${await members('queue/task-list', 'BulkSettings', 'RerunManySettings')}
### \`listKeys(filter)\`

${await members('queue/key-records', 'KeyFilter')}
### A key of \`listKeys\`

${await members('queue/key-records', 'KeyRecord')}
### \`createWorker(options)\`

${await members('library/worker-options', 'CreateWorkerOptions')}
### A worker of \`createWorker\`

${await members('library/create-worker', 'TaskWorker')}
### \`runTask(id, options)\`, \`runAttempt(id, options)\` of \`taskq/testing\`

${await members('testing', 'TestOptions')}
## Commands

Every command takes these:

${await commands()}
### What filters which tasks

A filter that a command does not take is refused, with the reason. \`--since\` and \`--before\` are about when a task ended, or,
while it lives, when it was created; both take a duration back from now, or a time.

${filters()}
${reasons()}`;

if (process.argv.includes('--check')) {
  if (written !== (await readFile(file, 'utf8')))
    throw new Error('docs/reference.md is out of date: run npm run tables');
} else {
  await writeFile(file, written);
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

/** Those of which `by` says the same, together. */
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
  const takes = command.usage().replace(/\[options\] ?/, '');
  const options = optionsOf(command);
  return `### \`taskq ${path}${takes === '' ? '' : ` ${takes}`}\`\n\n${sentence(command.description())}\n${options === '' ? '' : `\n${options}`}`;
}

function optionsOf(command) {
  const rows = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ flags, description }) => [code(flags), description]);
  return rows.length === 0 ? '' : table(['option', 'what it does'], rows);
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function needed(optional, type) {
  return optional || type === null ? '' : 'always';
}

function code(text) {
  return `\`${text}\``;
}
