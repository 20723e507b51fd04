import { guarded } from '../lib/guarded.ts';
import { LEVELS, type Level } from '../lib/level.ts';
import { EVENTS, type EventLog, type EventName } from '../worker/log/events.ts';

/** A log event of a worker, with the fields of a line of the daemon's log, named as the columns are. */
export interface WorkerEvent {
  readonly event: EventName;
  readonly level: Level;
  readonly message: string;
  readonly [field: string]: unknown;
}

/**
 * Creates a log that passes events of the level `lowest` or above to a listener. The first error that the listener
 * throws or rejects with is emitted as a process warning; later ones are ignored.
 */
export function listenerLog(listener: (event: WorkerEvent) => unknown, lowest: Level): EventLog {
  const passing = new Set(LEVELS.slice(LEVELS.indexOf(lowest)));
  const call = guarded('the listener of a taskq worker', listener);
  return {
    isDebugEnabled: lowest === 'debug',
    event(name, fields = {}) {
      const [level, message] = EVENTS[name];
      if (passing.has(level)) call({ ...fields, event: name, level, message });
    },
    // No spread: on Node 20 it costs more than all other work on a line.
    write(level, message, { task_id, type, attempt, fields }) {
      if (passing.has(level)) call({ task_id, type, attempt, fields, event: 'task.log', level, message });
    },
  };
}
