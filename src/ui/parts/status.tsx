import type { ComponentChildren } from 'preact';

/** A shape and a tone for each state: no two states have the same shape. */
const SHAPES: Readonly<Record<string, readonly [tone: string, shape: ComponentChildren]>> = {
  blocked: ['wait', <rect x="3" y="3" width="10" height="10" rx="1.5" />],
  pending: ['wait', <circle cx="8" cy="8" r="5" />],
  leased: ['busy', <path d="M8 3a5 5 0 1 0 0 10zM8 3a5 5 0 0 1 0 10" class="half" />],
  running: ['busy', <path d="M5 3.2v9.6l8-4.8z" class="fill" />],
  completed: ['good', <path d="m3 8.5 3.4 3.5L13 4.5" />],
  cancelled: ['off', <path d="M8 3a5 5 0 1 0 0 10A5 5 0 1 0 8 3M4.5 11.5l7-7" />],
  expired: ['off', <path d="M4 3h8L4 13h8z" />],
  dead: ['bad', <path d="m4 4 8 8m0-8-8 8" />],
  failed: ['bad', <path d="M8 3v6m0 3.2v.1" />],
  snoozed: ['wait', <path d="M4 4h8L4 12h8" />],
  lost: ['bad', <path d="M3 8h2m2 0h2m2 0h2" />],
  warned: ['warn', <path d="M8 3 2.5 13h11zM8 7v3" />],
  paused: ['warn', <path d="M5.5 3.5v9m5-9v9" />],
  live: ['good', <circle cx="8" cy="8" r="4.5" class="fill" />],
  stopping: ['warn', <path d="M4 4h8v8H4z" />],
  stopped: ['off', <path d="M4 4h8v8H4z" class="fill" />],
  silent: ['bad', <path d="M3 8h2m2 0h2m2 0h2" />],
  open: ['wait', <circle cx="8" cy="8" r="5" />],
  stuck: ['warn', <path d="M3 8h10M8 3v10" />],
  canary: ['warn', <path d="M8 3 2.5 13h11z" />],
  closed: ['good', <path d="M2 8h12" />],
  'breaker open': ['bad', <path d="M2 8h4l6-4.5M12 8h2" />],
  unhandled: ['warn', <path d="M8 3 2.5 13h11zM8 7v3" />],
  unknown: ['warn', <path d="M6 6a2 2 0 1 1 2.5 2L8 9m0 3.2v.1" />],
  failing: ['bad', <path d="M8 3v6m0 3.2v.1" />],
};

const OTHER = ['wait', <circle cx="8" cy="8" r="2.5" class="fill" />] as const;

/** A state by its shape and its name. */
export function Status({ name }: { readonly name: string }) {
  return (
    <span class={`status ${toneOf(name)}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        {shapeOf(name)}
      </svg>
      {name}
    </span>
  );
}

export function toneOf(name: string): string {
  return (SHAPES[name] ?? OTHER)[0];
}

/** The drawing of a state within 16 × 16. */
export function shapeOf(name: string): ComponentChildren {
  return (SHAPES[name] ?? OTHER)[1];
}
