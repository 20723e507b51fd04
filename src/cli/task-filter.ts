import type { Command } from 'commander';
import { checkedName } from '../domain/names.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { sinceOf } from '../queue/since.ts';

/** Collect an option that may be given many times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Read `--tag k=v …`. Throws TaskqError (exit 2). */
export function parseTags(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((tag) => {
      const at = tag.indexOf('=');
      if (at < 1) throw badOption(`--tag ${JSON.stringify(tag)}: expected name=value`);
      return [checkedName('tag', tag.slice(0, at)), tag.slice(at + 1)];
    }),
  );
}

/** Read `--since`: a duration back from now, or an instant. Returns ISO 8601. Throws TaskqError (exit 2). */
export function parseSince(text: string): string {
  return sinceOf(text, '--since');
}

/** Read the number of a task. Throws TaskqError (exit 2). */
export function parseId(text: string, what = 'id'): string {
  return checkedTaskId(text, what);
}

/** Read `--limit`. Throws TaskqError (exit 2). */
export function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= 100_000) return limit;
  throw badOption(`--limit ${JSON.stringify(text)}: expected a whole number from 1 to 100000`);
}

/** Declare the options of a page: `--limit` and `--after`. */
export function declarePage(command: Command): Command {
  return command
    .option('--limit <n>', 'at most so many', '100')
    .option('--after <id>', 'only what is older than this task: the next page');
}

export function badOption(message: string, hint?: string): TaskqError {
  return new TaskqError('bad_option', message, { exitCode: EXIT.usage, ...(hint !== undefined && { hint }) });
}
