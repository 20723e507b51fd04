import { writeSync } from 'node:fs';
import { EVENTS, type EventName, type FieldsOf } from './events.ts';

/**
 * Write the line of an event as JSON at once, past the log: the process is about to end, and its main thread may be
 * blocked. Never throws, also if nothing reads the log.
 */
export function writeLastLine<Name extends EventName>(
  descriptor: number,
  name: Name,
  fields: FieldsOf<Name>,
): void {
  const [level, msg] = EVENTS[name];
  const line = { level, time: new Date().toISOString(), event: name, ...fields, msg };
  try {
    writeSync(descriptor, `${JSON.stringify(line)}\n`);
  } catch {
    // Nothing reads the log, or not fast enough.
  }
}
