import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';

/** What a JavaScript file is written as: with `import` and `export`, or with `require` and `module.exports`. */
export type Syntax = 'module' | 'commonjs';

/** Tell how JavaScript is written, as Node does where no package says it. Nothing of it is run. */
export function syntaxOf(source: string): Syntax {
  try {
    compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname']);
    return 'commonjs';
  } catch (error) {
    return ONLY_IN_MODULES.test((error as Error).message) ? 'module' : 'commonjs';
  }
}

/** What V8 says of a module that it is to read as CommonJS. */
const ONLY_IN_MODULES =
  /^Cannot use import statement|^Unexpected token 'export'|^Cannot use 'import\.meta'|^await is only valid|^Unexpected reserved word|^Identifier '(?:exports|require|module|__filename|__dirname)' has already/;

/**
 * What Node takes a `.js` file for, by the nearest package.json: CommonJS, unless that says otherwise. (A module without a
 * word of it there it reads twice, and warns.) Undefined: there is none, and Node looks at the file without a word.
 */
export function declaredSyntaxOf(path: string): Syntax | undefined {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    const text = textOf(join(directory, 'package.json'));
    if (text !== undefined) return typeIn(text);
    if (directory === dirname(directory)) return undefined;
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Node itself complains of one that is no JSON. */
function typeIn(text: string): Syntax | undefined {
  try {
    const { type } = JSON.parse(text) as { readonly type?: unknown };
    return type === 'module' ? 'module' : 'commonjs';
  } catch {
    return undefined;
  }
}
