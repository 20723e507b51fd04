/** The roles of callers: each may also do what those before it may. */
export const ROLES = ['viewer', 'producer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** Who sends a request. */
export interface Caller {
  readonly role: Role;
  /** The name for the record of actions, beside the role of the database. */
  readonly by?: string;
  /** The queues that it may see and change, as names in which `*` stands for any text; default: all. */
  readonly queues?: readonly string[] | null;
}

/** Whether the role of a caller is at least this one. */
export function mayAs({ role }: Caller, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** Whether a caller may see and change a queue. */
export function maySee({ queues }: Caller, queue: string): boolean {
  return queues == null || queues.some((pattern) => matches(pattern, queue));
}

/** Each part between two `*` is found at its first place, so that a pattern of many `*` costs no more than its length. */
function matches(pattern: string, name: string): boolean {
  const [head, ...rest] = pattern.split('*') as [string, ...string[]];
  const tail = rest.pop();
  if (tail === undefined) return name === head;
  if (!name.startsWith(head)) return false;
  let at = head.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}
