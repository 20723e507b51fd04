import type { Progress } from '../../domain/progress.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import type { EventLog } from '../log/events.ts';

/** Where everything goes that a handler reports while it runs. */
export interface HandlerOutput extends Pick<EventLog, 'write'> {
  progress(progress: Progress): void;
  warn(error: StoredError): void;
}
