import { type DestinationStream, pino } from 'pino';
import { describeLine } from './describe-line.ts';
import { EVENTS, type EventLog, type Level } from './events.ts';

export interface LogOptions {
  readonly level: Level;
  /** Coloured lines for a person; else one JSON object per line. */
  readonly pretty: boolean;
  readonly colour: boolean;
}

/** Make the daemon's log, on stdout. */
export async function createLog(options: LogOptions): Promise<EventLog> {
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    await destination(options),
  );
  return {
    event(name, fields = {}) {
      const [level, message] = EVENTS[name];
      logger[level]({ event: name, ...fields }, message);
    },
    say(level, message, fields) {
      logger[level]({ event: 'task.log', ...fields }, message);
    },
  };
}

async function destination({ pretty, colour }: LogOptions): Promise<DestinationStream> {
  if (!pretty) return pino.destination({ fd: 1, sync: true });
  const { default: prettyStream } = await import('pino-pretty');
  return prettyStream({
    destination: 1,
    sync: true,
    colorize: colour,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: (line) => describeLine(line),
  });
}
