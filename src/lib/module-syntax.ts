import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';

/** How a JavaScript file is written: with `import` and `export`, or with `require` and `module.exports`. */
export type Syntax = 'module' | 'commonjs';

/** Detects how JavaScript is written, as Node does where no package.json declares it. Does not run it. */
export function syntaxOf(source: string): Syntax {
  try {
    compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname']);
    return 'commonjs';
  } catch (error) {
    return ONLY_IN_MODULES.test((error as Error).message) ? 'module' : 'commonjs';
  }
}

/** V8's messages when it compiles a module as CommonJS. */
const ONLY_IN_MODULES =
  /^Cannot use import statement|^Unexpected token 'export'|^Cannot use 'import\.meta'|^await is only valid|^Unexpected reserved word|^Identifier '(?:exports|require|module|__filename|__dirname)' has already/;

/**
 * Returns how Node reads a `.js` file, by the nearest package.json: as CommonJS, unless it declares otherwise. (Node
 * reads a module twice, and warns, if that package.json declares no type.) Returns undefined if there is no
 * package.json: Node then detects the syntax without a warning.
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

/** Undefined if it is not JSON: Node itself reports that. */
function typeIn(text: string): Syntax | undefined {
  try {
    const { type } = JSON.parse(text) as { readonly type?: unknown };
    return type === 'module' ? 'module' : 'commonjs';
  } catch {
    return undefined;
  }
}
