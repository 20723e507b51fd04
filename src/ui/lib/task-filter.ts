import type { OperationFilter } from './operations.ts';

/** The path of the list of the tasks that the parameters of the screen choose. */
export function listPath(params: URLSearchParams): string {
  if (params.size === 0) return 'tasks';
  const query = [...params].map(([name, value]) => {
    const wanted = name === 'payload' ? wantedOf(value) : undefined;
    return wanted === undefined ? [name, value] : [`payload.${wanted[0]}`, wanted[1]];
  });
  return `tasks?${new URLSearchParams(query)}`;
}

/** The same as the filter of an operation. */
export function filterOf(params: URLSearchParams): OperationFilter {
  return Object.fromEntries(
    [...new Set(params.keys())].map((name) => {
      if (name === 'status' || name === 'tag') return [name, params.getAll(name)];
      const wanted = name === 'payload' ? wantedOf(params.get(name)!) : undefined;
      return [name, wanted === undefined ? params.get(name) : Object.fromEntries([wanted])];
    }),
  );
}

/** `order.id=42` as path and value; undefined: not of this form, which the server reports. */
function wantedOf(text: string): readonly [path: string, value: string] | undefined {
  const at = text.indexOf('=');
  return at < 1 ? undefined : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}
