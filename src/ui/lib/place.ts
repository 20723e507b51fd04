/** The first segments that name a screen; see `SCREENS`. */
export type ScreenName =
  | 'audit'
  | 'charts'
  | 'dead'
  | 'enqueue'
  | 'limits'
  | 'operations'
  | 'overview'
  | 'queues'
  | 'schedules'
  | 'settings'
  | 'task'
  | 'tasks'
  | 'tokens'
  | 'types'
  | 'workers'
  | 'workflows';

/** The place in the fragment of the URL: the screen, its object, and everything it shows of it. */
export interface Place {
  readonly screen: string;
  /** The further segments, such as the id of a task. */
  readonly names: readonly string[];
  readonly params: URLSearchParams;
}

/** Reads a fragment such as `#/tasks?queue=mail`. */
export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [screen = '', ...names] = path.split('/').map(decoded);
  return { screen: screen || 'overview', names, params: new URLSearchParams(query) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export type Params = Readonly<Record<string, string | readonly string[] | null | undefined>>;

/** The fragment of a screen. */
export function hrefTo(screen: ScreenName, names: readonly string[] = [], params: Params = {}): string {
  return hrefOf({ screen, names, params: changed(new URLSearchParams(), params) });
}

/** The fragment of a place, also of one that names no screen. */
export function hrefOf({ screen, names, params }: Place): string {
  const path = [screen, ...names].map(encodeURIComponent).join('/');
  return params.size === 0 ? `#/${path}` : `#/${path}?${params}`;
}

/** The parameters with changes: null, undefined and empty ones are removed. */
export function changed(params: URLSearchParams, changes: Params): URLSearchParams {
  const result = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    result.delete(name);
    for (const one of [value ?? []].flat()) if (one !== '') result.append(name, one);
  }
  return result;
}

/** Opens a fragment, so that Back returns from it. */
export function go(href: string): void {
  location.hash = href;
}
