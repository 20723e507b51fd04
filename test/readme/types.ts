import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Block } from './documents.ts';

/** Returns what TypeScript has to say against blocks of TypeScript: nothing, or its complaint with the block's place. */
export async function typeErrors(blocks: readonly Block[]): Promise<string> {
  const directory = await temporaryDirectory();
  for (const [n, { text }] of blocks.entries()) {
    // Each on its own, with a name of its own.
    const file = join(directory, `block-${n}`, 'block.ts');
    await mkdir(join(file, '..'));
    await writeFile(file, /^\s*(import|export)\b/m.test(text) ? text : `${text}\nexport {};\n`);
  }
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  await symlink(join(REPOSITORY, 'node_modules'), join(directory, 'node_modules'));
  await writeFile(
    join(directory, 'tsconfig.json'),
    JSON.stringify({
      extends: join(REPOSITORY, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(REPOSITORY, 'node_modules/@types')],
        // An excerpt shows less than it would use.
        noUnusedLocals: false,
        noUnusedParameters: false,
      },
      include: ['block-*/*.ts'],
    }),
  );
  try {
    execFileSync(process.execPath, [join(REPOSITORY, 'node_modules/typescript/bin/tsc'), '-p', directory], {
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    const said = String((error as { stdout: Buffer }).stdout);
    return said.replaceAll(/\S*block-(\d+)\/block\.ts/g, (_, n: string) => blocks[Number(n)]!.at);
  }
}
