import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot, packageVersion } from '../../src/lib/package-root.ts';

test('the root is where our package.json lies', () => {
  expect(packageRoot()).toBe(resolve(import.meta.dirname, '../..'));
  expect(packageVersion()).toBe(
    JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version,
  );
});
