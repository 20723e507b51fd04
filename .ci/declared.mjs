// Reads the members of an interface, a type or a class from a declaration file: the compiler has written it, in one
// form, with the comments of the source.
import { readFile } from 'node:fs/promises';

/** Returns {name, optional, type, says} for each member, in order; `type` is null for a method. */
export async function membersOf(file, declared) {
  const text = await readFile(new URL(`../dist/${file}.d.ts`, import.meta.url), 'utf8');
  const lines = bodyOf(text, file, declared);
  const members = [];
  for (let at = 0, comment = '', isForm = false; at < lines.length; at++) {
    const line = lines[at];
    if (line.startsWith('    /**')) {
      const end = lines.findIndex((one, n) => n >= at && one.includes('*/'));
      comment = textOf(lines.slice(at, end + 1));
      at = end;
      continue;
    }
    // A member that only one of several forms has is optional.
    if (/^\} & \(/.test(line)) isForm = true;
    const [, name, mark, type] = /^ {4}(?:readonly )?(\w+)(\?)?: (.+)$/.exec(line) ?? [];
    const method = /^ {4}(\w+)[(<]/.exec(line)?.[1];
    if (name !== undefined && type !== 'undefined;') {
      members.push({ name, optional: isForm || mark === '?', type: type.replace(/;$/, ''), says: comment });
    } else if (method !== undefined && method !== 'constructor') {
      members.push({ name: `${method}()`, optional: false, type: null, says: comment });
    }
    comment = '';
  }
  const silent = members.find(({ says }) => says === '');
  if (silent !== undefined)
    throw new Error(`${silent.name} of ${declared} (src/${file}.ts) has no comment that says what it is`);
  return members;
}

/** Returns the text of a type's declaration. */
export async function declarationOf(file, declared) {
  const text = await readFile(new URL(`../dist/${file}.d.ts`, import.meta.url), 'utf8');
  const found = new RegExp(`^export (type ${declared}\\b[\\s\\S]*?^\\}?\\)?;$)`, 'm').exec(text)?.[1];
  if (found === undefined) throw new Error(`${file}.d.ts declares no type ${declared}`);
  return found;
}

function bodyOf(text, file, declared) {
  const lines = text.split('\n');
  const start = lines.findIndex((line) =>
    new RegExp(`^export (?:interface|type|declare class) ${declared}\\b`).test(line),
  );
  if (start === -1) throw new Error(`${file}.d.ts declares no ${declared}`);
  const end = lines[start].startsWith('export type') ? /^\}\)?;$/ : /^\}$/;
  const length = lines.slice(start).findIndex((line) => end.test(line));
  return lines.slice(start + 1, start + length);
}

function textOf(lines) {
  return lines
    .map((line) => line.replace(/^\s*\/?\*+\/?\s?/, '').replace(/\s*\*\/$/, ''))
    .join(' ')
    .trim();
}
