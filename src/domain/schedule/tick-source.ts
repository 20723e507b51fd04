/** The tick for which a schedule has enqueued a task, from the task's source; null: it has none. */
export function tickOfSource(source: string | null | undefined): string | null {
  return TICK.exec(source ?? '')?.[1] ?? null;
}

/** `schedule:nightly@2030-01-31T02:30:00.000Z`; one that was run by hand has no tick. */
const TICK = /^schedule:.*@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s;
