/**
 * Breaks the lines of a text at blanks, so that none is wider than `columns`. The rest of a line is indented like what
 * follows two blanks in it (a name and what it means), or else by two; an unindented line flows into the next one. A
 * word that is wider stays whole; colour codes have no width. `hanging`: the indent below an unindented line.
 */
export function wrapText(text: string, columns: number, hanging = 0): string {
  const out: string[] = [];
  let open: Open | undefined;
  for (const line of text.split('\n')) {
    const flows = open !== undefined && line.trim() !== '' && blanksBefore(line) === open.indent;
    const whole: string = flows ? `${open!.text} ${line.trim()}` : line;
    const indent: number = flows ? open!.indent : hangingIndent(line, columns, hanging);
    if (!flows && open !== undefined) out.push(open.text);
    const pieces = piecesOf(whole, indent, columns);
    out.push(...pieces.slice(0, -1));
    open = pieces.length > 1 || flows ? { text: pieces.at(-1)!, indent } : undefined;
    if (open === undefined) out.push(whole);
  }
  if (open !== undefined) out.push(open.text);
  return out.join('\n');
}

/** The last piece of a broken line, to which the rest of its paragraph is added. */
interface Open {
  readonly text: string;
  readonly indent: number;
}

function blanksBefore(line: string): number {
  return line.length - line.trimStart().length;
}

function hangingIndent(line: string, columns: number, hanging: number): number {
  const before = blanksBefore(line);
  if (before === 0) return hanging;
  const second = /^ +\S+(?: \S+)* {2,}/.exec(line.replaceAll(COLOUR, ''))?.[0].length ?? columns;
  return second <= columns / 2 ? second : before + 2;
}

function piecesOf(line: string, indent: number, columns: number): string[] {
  const pieces: string[] = [];
  let rest = line;
  for (;;) {
    const at = widthOf(rest.trimEnd()) <= columns ? -1 : breakIn(rest, columns);
    if (at < 0) return [...pieces, rest];
    pieces.push(rest.slice(0, at).trimEnd());
    rest = ' '.repeat(indent) + rest.slice(at).trimStart();
  }
}

/** The index of the last blank before the edge or, if a word is wider, of the first after it; -1: none. */
function breakIn(line: string, columns: number): number {
  let width = 0;
  let best = -1;
  let inText = false;
  for (const { 0: part, index } of line.matchAll(PARTS)) {
    if (part === ' ') {
      if (inText && (width <= columns || best < 0)) best = index;
      if (inText && width >= columns) break;
      width += 1;
    } else if (!part.startsWith('\u001b')) {
      width += [...part].length;
      inText = true;
    }
  }
  return best;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
const COLOUR = /\u001b\[[\d;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
const PARTS = /\u001b\[[\d;]*m| |[^ \u001b]+|\u001b/g;

function widthOf(line: string): number {
  return [...line.replaceAll(COLOUR, '')].length;
}
