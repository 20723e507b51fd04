/**
 * The kinds of roles. The head of each function of sql/functions/api names the kinds that call it: `taskq grants`, the
 * manual and the tests read it there.
 */
export const KINDS = ['producer', 'worker', 'worker that enqueues', 'reader', 'operator'] as const;

export type Kind = (typeof KINDS)[number];

/**
 * Get the comment that opens the file of a function, as `comment on function` stores it: a paragraph is one line, and
 * so is each element of a list, the description of the arguments, and the last line, which names the kinds of roles
 * that call the function.
 */
export function headComment(text: string): string {
  const head = text.slice(0, text.search(/^create /m));
  const lines = head.trimEnd().replaceAll(/^-- ?/gm, '');
  return lines.replaceAll(/(?<=[^\n])\n(?!\n| {2}\S|Arguments: |Granted to: ) */g, ' ');
}

/** Get the kinds of roles that call a function, from its comment. Empty: it names none. */
export function kindsIn(comment: string): readonly Kind[] {
  const named = /^Granted to: (.+)\.$/m.exec(comment)?.[1]?.split(', ') ?? [];
  return KINDS.filter((kind) => named.includes(kind));
}
