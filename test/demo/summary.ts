/** What the demo has done, in figures. */
export interface DemoFigures {
  readonly completed: number;
  readonly flaky: number;
  readonly hopeless: number;
  readonly enqueuedPerSecond: number;
  readonly workedOffPerSecond: number;
}

/** The demo's last words. */
export function summaryOf({ completed, flaky, hopeless, ...speed }: DemoFigures): string {
  return `  tasks     ${completed} completed, every hash as it should be
  retries   ${flaky * 2} of ${flaky} tasks that failed twice, ${hopeless * 2} of files that are not there
  dead      ${hopeless}
  revived   1
  speed     ${rate(speed.enqueuedPerSecond)} enqueued, ${rate(speed.workedOffPerSecond)} worked off (with starting and retries)`;
}

function rate(perSecond: number): string {
  return `${Math.round(perSecond).toLocaleString('en')} tasks/s`;
}
