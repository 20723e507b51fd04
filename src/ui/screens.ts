import type { ComponentType } from 'preact';
import { type Caller, ROLES, type Role } from './lib/app.ts';
import type { ScreenName } from './lib/place.ts';
import { AuditScreen } from './screens/audit.tsx';
import { ChartsScreen } from './screens/charts.tsx';
import { DeadScreen } from './screens/dead.tsx';
import { EnqueueScreen } from './screens/enqueue.tsx';
import { LimitsScreen } from './screens/limits.tsx';
import { OperationsScreen } from './screens/operations.tsx';
import { OverviewScreen } from './screens/overview.tsx';
import { QueuesScreen } from './screens/queues.tsx';
import { SchedulesScreen } from './screens/schedules.tsx';
import { SettingsScreen } from './screens/settings.tsx';
import { TaskScreen } from './screens/task.tsx';
import { TasksScreen } from './screens/tasks.tsx';
import { TokensScreen } from './screens/tokens.tsx';
import { TypesScreen } from './screens/types.tsx';
import { WorkersScreen } from './screens/workers.tsx';
import { WorkflowsScreen } from './screens/workflows.tsx';

export interface ScreenEntry {
  /** The first segment of the fragment. */
  readonly name: ScreenName;
  readonly title: string;
  /** `g` and this key open it; a screen without one is not in the menu. */
  readonly key?: string;
  readonly component: ComponentType;
  /** The least role whose routes it reads; default: viewer. */
  readonly role?: Role;
  /** Its routes cover more than one queue: not for callers limited to some queues. */
  readonly queues?: 'all';
  /** The screens of which this one is the menu entry. */
  readonly about?: readonly string[];
}

/** Every screen, in the order of the menu. */
export const SCREENS: readonly ScreenEntry[] = [
  { name: 'overview', title: 'Overview', key: 'o', component: OverviewScreen },
  { name: 'tasks', title: 'Tasks', key: 't', component: TasksScreen, about: ['task', 'enqueue'] },
  { name: 'task', title: 'Task', component: TaskScreen },
  { name: 'dead', title: 'Dead letters', key: 'd', component: DeadScreen },
  { name: 'queues', title: 'Queues', key: 'q', component: QueuesScreen },
  { name: 'types', title: 'Types', key: 'y', component: TypesScreen, queues: 'all' },
  { name: 'limits', title: 'Limits', key: 'm', component: LimitsScreen },
  { name: 'workers', title: 'Workers', key: 'w', component: WorkersScreen, queues: 'all' },
  { name: 'schedules', title: 'Schedules', key: 's', component: SchedulesScreen, queues: 'all' },
  { name: 'workflows', title: 'Workflows', key: 'f', component: WorkflowsScreen, queues: 'all' },
  { name: 'charts', title: 'Charts', key: 'c', component: ChartsScreen },
  { name: 'operations', title: 'Operations', key: 'b', component: OperationsScreen },
  { name: 'settings', title: 'Settings', key: 'e', component: SettingsScreen, queues: 'all' },
  { name: 'audit', title: 'Audit', key: 'a', component: AuditScreen, role: 'operator', queues: 'all' },
  { name: 'tokens', title: 'Tokens', key: 'k', component: TokensScreen, role: 'admin', queues: 'all' },
  { name: 'enqueue', title: 'Enqueue', component: EnqueueScreen, role: 'producer' },
];

export function screenOf(name: string): ScreenEntry | undefined {
  return SCREENS.find((screen) => screen.name === name);
}

/** Whether a caller may read the data of a screen. */
export function isShownTo({ role = 'viewer', queues }: ScreenEntry, caller: Caller): boolean {
  return (
    ROLES.indexOf(caller.role) >= ROLES.indexOf(role) && (queues === undefined || caller.queues === null)
  );
}
