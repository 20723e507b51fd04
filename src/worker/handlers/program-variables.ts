/** The environment variables that identify a program's task. */
export const PROGRAM_VARIABLES = [
  'TASKQ_ID',
  'TASKQ_IDEMPOTENCY_KEY',
  'TASKQ_TYPE',
  'TASKQ_QUEUE',
  'TASKQ_ATTEMPT',
  'TASKQ_TICK',
  'TASKQ_WORKFLOW',
  'TASKQ_STEP',
] as const;

export type ProgramVariable = (typeof PROGRAM_VARIABLES)[number];
