import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../support/spawn-taskq.ts';

/** A fenced block of a document. */
export interface Block {
  /** `README.md:42`, for messages. */
  readonly at: string;
  /** What stands behind the opening fence. */
  readonly kind: string;
  readonly text: string;
  /** The file that its first line names (after `#!`), as in `// handlers/greet.js` or `# taskq.service`. */
  readonly file: string | undefined;
}

/** What stands below a heading of the second order, or before the first of them. */
export interface Section {
  /** `five-minutes`. */
  readonly name: string;
  readonly blocks: readonly Block[];
}

/** Reads the sections of a document that have fenced blocks. */
export function sectionsOf(document: string): Section[] {
  const sections: { name: string; blocks: Block[] }[] = [{ name: 'beginning', blocks: [] }];
  const lines = readFileSync(join(REPOSITORY, document), 'utf8').split('\n');
  for (let n = 0; n < lines.length; n++) {
    const heading = /^## (.+)/.exec(lines[n]!)?.[1];
    if (heading !== undefined) sections.push({ name: slug(heading), blocks: [] });
    if (/^\s+```|^\s*~~~/.test(lines[n]!))
      throw new Error(`${document}:${n + 1}: a fence begins its line with \`\`\``);
    const opening = /^(`{3,})(.*)$/.exec(lines[n]!);
    if (opening === null) continue;
    const end = lines.indexOf(opening[1]!, n + 1);
    if (end === -1) throw new Error(`${document}:${n + 1}: the fence is not closed`);
    const text = lines.slice(n + 1, end).join('\n');
    const first = lines[n + 1]!.startsWith('#!') ? lines[n + 2]! : lines[n + 1]!;
    const file = /^(?:\/\/|#|--) (\S+\.\w+|\S+file)$/.exec(first)?.[1];
    sections.at(-1)!.blocks.push({ at: `${document}:${n + 1}`, kind: opening[2]!.trim(), text, file });
    n = end;
  }
  return sections.filter(({ blocks }) => blocks.length > 0);
}

function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
