import { LEVELS, type Level } from '../lib/level.ts';
import { EVENTS, type EventLog, type EventName } from '../worker/log/events.ts';

/** What happened in a worker, as a line of the daemon's log has it: the other fields are named as the columns are. */
export interface WorkerEvent {
  readonly event: EventName;
  readonly level: Level;
  readonly message: string;
  readonly [field: string]: unknown;
}

/**
 * Make a log that tells a listener what is of that level or above. What that throws, or rejects with, is told once, as a
 * warning of the process.
 */
export function tellListener(listener: (event: WorkerEvent) => unknown, lowest: Level): EventLog {
  let hasThrown = false;
  const complain = (thrown: unknown) => {
    if (hasThrown) return;
    hasThrown = true;
    process.emitWarning(`the listener of a taskq worker threw: ${String(thrown)}`, 'TaskqWarning');
  };
  const tell = (event: WorkerEvent) => {
    if (LEVELS.indexOf(event.level) < LEVELS.indexOf(lowest)) return;
    try {
      const answer = listener(event);
      if (answer instanceof Promise) answer.catch(complain);
    } catch (thrown) {
      complain(thrown);
    }
  };
  return {
    tellsDebug: lowest === 'debug',
    event(name, fields = {}) {
      const [level, message] = EVENTS[name];
      tell({ ...fields, event: name, level, message });
    },
    say: (level, message, line) => tell({ ...line, event: 'task.log', level, message }),
  };
}
