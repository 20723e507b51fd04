/**
 * The text of a member of a JSON object, unchanged, without blanks around it; the last one if the name occurs several
 * times, as in every parser. Undefined: there is none. The object must be valid JSON.
 */
export function memberText(object: string, name: string): string | undefined {
  let found: string | undefined;
  let at = object.indexOf('{') + 1;
  for (;;) {
    const nameStart = object.indexOf('"', at);
    if (nameStart === -1) return found;
    const nameEnd = stringEnd(object, nameStart);
    const valueStart = object.indexOf(':', nameEnd) + 1;
    const valueEnd = endOfValue(object, valueStart);
    if (JSON.parse(object.slice(nameStart, nameEnd)) === name)
      found = object.slice(valueStart, valueEnd).trim();
    at = valueEnd + 1;
  }
}

/** The texts of the elements of a JSON array, unchanged. The array must be valid JSON. */
export function elementTexts(array: string): string[] {
  const texts: string[] = [];
  for (let at = array.indexOf('[') + 1; ; ) {
    const end = endOfValue(array, at);
    const text = array.slice(at, end).trim();
    if (text !== '') texts.push(text);
    if (array[end] === ']') return texts;
    at = end + 1;
  }
}

/** The index after the closing quote. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** The index of the comma or the bracket after a value. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; ) {
    const unit = text[at]!;
    if (unit === '"') at = stringEnd(text, at);
    else {
      if (depth === 0 && (unit === ',' || unit === '}' || unit === ']')) return at;
      if (unit === '{' || unit === '[') depth += 1;
      if (unit === '}' || unit === ']') depth -= 1;
      at += 1;
    }
  }
}
