import { isRecorded, type Route } from './route.ts';
import { AUDIT_READS } from './routes/audit.ts';
import { DEAD_READS } from './routes/dead-groups.ts';
import { DEFAULTS } from './routes/defaults.ts';
import { enqueueTasks } from './routes/enqueue.ts';
import { EVENT_READS } from './routes/events.ts';
import { LIMIT_ROUTES } from './routes/limits.ts';
import { META } from './routes/meta.ts';
import { OPERATIONS } from './routes/operations.ts';
import { PAGES } from './routes/pages.ts';
import { QUEUE_VERBS } from './routes/queue-verbs.ts';
import { QUEUE_READS } from './routes/queues.ts';
import { SCHEDULE_VERBS } from './routes/schedule-verbs.ts';
import { SCHEDULE_READS } from './routes/schedules.ts';
import { STATS_READS } from './routes/stats.ts';
import { TASK_VERBS } from './routes/task-verbs.ts';
import { TASK_READS } from './routes/tasks.ts';
import { TOKENS } from './routes/tokens.ts';
import { TYPE_VERBS } from './routes/type-verbs.ts';
import { TYPE_READS } from './routes/types.ts';
import { WORKER_VERBS } from './routes/worker-verbs.ts';
import { WORKER_READS } from './routes/workers.ts';
import { WORKFLOW_VERBS } from './routes/workflow-verbs.ts';
import { WORKFLOW_READS } from './routes/workflows.ts';

const REASON = { type: 'string', description: 'why, recorded with who in the audit' } as const;

const ALL: readonly Route[] = [
  enqueueTasks,
  ...TASK_READS,
  ...TASK_VERBS,
  ...OPERATIONS,
  ...QUEUE_READS,
  ...QUEUE_VERBS,
  ...LIMIT_ROUTES,
  ...TYPE_READS,
  ...TYPE_VERBS,
  ...WORKER_READS,
  ...WORKER_VERBS,
  ...DEFAULTS,
  ...SCHEDULE_READS,
  ...SCHEDULE_VERBS,
  ...WORKFLOW_READS,
  ...WORKFLOW_VERBS,
  ...DEAD_READS,
  ...AUDIT_READS,
  ...EVENT_READS,
  ...STATS_READS,
  ...TOKENS,
  ...META,
  ...PAGES,
];

/** Every route, in the order of the manual. */
export const ROUTES: readonly Route[] = ALL.map((route) => (isRecorded(route) ? withReason(route) : route));

function withReason(route: Route): Route {
  const { method, query, body } = route;
  if (method === 'DELETE') return { ...route, query: { ...query, reason: REASON } };
  return { ...route, body: { ...body, properties: { ...body?.properties, reason: REASON } } };
}
