/**
 * Fit a text on one line of a terminal: line ends and tabs become blanks, every other control character becomes its
 * escape. A payload or an error may hold a stranger's escape sequences.
 */
export function printable(text: string): string {
  return text.replaceAll(/\s*[\r\n\t]\s*/g, ' ').replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, escaped);
}

/** The same for a text of several lines, which stay. */
export function printableLines(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => line.replaceAll('\t', '  '))
    .map((line) => line.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, escaped))
    .join('\n');
}

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
