export { Cancel, Dead, Retry, Snooze } from './domain/signals.ts';
export { TaskqError } from './lib/errors.ts';
export {
  defineHandler,
  type HandlerDefinition,
  type Isolation,
  type StandardSchema,
  type TaskContext,
  type TaskLog,
} from './worker/handler.ts';
