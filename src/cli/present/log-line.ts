import { stringifyExact } from '../../lib/exact-json.ts';
import type { LogLine } from '../../queue/inspect/show-task.ts';
import { printableLines } from './printable.ts';
import { localTime } from './times.ts';

/** A line of the log of a task, for people. */
export function logLine({ at, level, message, fields }: LogLine): string {
  const text = typeof fields === 'string' ? fields : stringifyExact(fields ?? null);
  const more = fields === null || fields === undefined ? '' : `  ${text}`;
  return printableLines(`${localTime(at)}  ${level.padEnd(5)}  ${message}${more}`);
}
