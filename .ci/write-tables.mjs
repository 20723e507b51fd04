// Writes the tables of README.md that are generated from the code: `npm run tables`. With --check it fails where they
// are out of date instead.
import { readFile, writeFile } from 'node:fs/promises';
import { COMMANDS } from '../dist/cli/commands.js';
import { EXIT_CODES } from '../dist/cli/exit-codes.js';
import { describeSettings } from '../dist/config/describe-config.js';
import { EVENTS } from '../dist/worker/log/events.js';
import { table } from './table.mjs';

const file = new URL('../README.md', import.meta.url);
const text = await readFile(file, 'utf8');
const tables = {
  settings: settings(),
  commands: await commands(),
  'exit-codes': exitCodes(),
  events: events(),
};
let written = text;
for (const [name, table] of Object.entries(tables)) {
  const place = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`);
  if (!place.test(written)) throw new Error(`README.md has no place for the table of ${name}`);
  written = written.replace(place, (_, open, close) => `${open}${table}${close}`);
}
if (process.argv.includes('--check')) {
  if (written !== text) throw new Error('the tables of README.md are out of date: run npm run tables');
} else {
  await writeFile(file, written);
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

async function commands() {
  const rows = COMMANDS.flatMap(({ entries }) => entries).map(async ({ name, summary, load }) => {
    const { subcommands } = await load();
    if (subcommands === undefined) return [[`\`taskq ${name}\``, summary]];
    return subcommands.map((below) => [`\`taskq ${name} ${below.name}\``, below.summary]);
  });
  return table(['command', 'what it does'], (await Promise.all(rows)).flat());
}

function exitCodes() {
  return table(
    ['exit code', 'meaning'],
    EXIT_CODES.map(({ codes, meaning }) => [codes.join(', '), meaning]),
  );
}

function events() {
  return table(
    ['event', 'level', 'what happened'],
    Object.entries(EVENTS).map(([name, [level, message]]) => [`\`${name}\``, level, message]),
  );
}
