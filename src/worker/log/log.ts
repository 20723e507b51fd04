import { type DestinationStream, pino } from 'pino';
import type { Level } from '../../lib/level.ts';
import { wrapText } from '../../lib/wrap.ts';
import { describeLine } from './describe-line.ts';
import { EVENTS, type EventLog } from './events.ts';

export interface LogOptions {
  readonly level: Level;
  /** Colored lines for a person; otherwise one JSON object per line. */
  readonly pretty: boolean;
  readonly colour: boolean;
  /** Fields of every line. */
  readonly about: Readonly<Record<string, unknown>>;
}

/** Create the daemon's log. */
export function createLog({ level, about }: LogOptions, stream: DestinationStream): EventLog {
  const logger = pino(
    {
      level,
      base: about,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    stream,
  );
  return {
    isDebugEnabled: logger.isLevelEnabled('debug'),
    event(name, fields: object = {}) {
      const [level, message] = EVENTS[name];
      logger[level]({ event: name, ...fields }, message);
    },
    write(level, message, { task_id, type, attempt, fields }) {
      logger[level]({ event: 'task.log', task_id, type, attempt, fields }, message);
    },
  };
}

/** Open stdout for a log. JSON lines written to it are formatted as the options require. */
export async function openLogStream({ pretty, colour }: LogOptions): Promise<DestinationStream> {
  if (!pretty) return pino.destination({ fd: 1, sync: true });
  const { default: prettyStream } = await import('pino-pretty');
  return prettyStream({
    destination: 1,
    sync: true,
    colorize: colour,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: (line) => fitted(describeLine(line), prefixOf(line), process.stdout.columns),
  });
}

/** What pino-pretty writes before a message: `[12:00:00] INFO (name/77): `. */
function prefixOf({ level, name, pid }: Readonly<Record<string, unknown>>): string {
  const who = [name, pid].filter((part) => part !== undefined).join('/');
  return `[12:00:00] ${level}${who === '' ? '' : ` (${who})`}: `;
}

/** Breaks a message at blanks, where a terminal would break it in the middle of words; not if it has no width. */
export function fitted(message: string, prefix: string, columns: number): string {
  if (!(columns > 0)) return message;
  const before = '.'.repeat([...prefix].length);
  const lines = `${before}${message}`.split('\n').map((line) => wrapText(line, columns, 4));
  return lines.join('\n').slice(before.length);
}
