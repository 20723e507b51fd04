import { readFile } from 'node:fs/promises';
import type { Ledger } from '../../../src/worker/lease/ledger.ts';

/** The class under exploration: the product's own, or a copy with a fault. */
export type LedgerClass = typeof Ledger;

const BUILT = new URL('../../../dist/worker/lease/', import.meta.url);

/** A small fault in the ledger: a piece of its code, which must occur exactly once, and its replacement. */
export interface Fault {
  /** The file of `src/worker/lease` that has it, without its ending; `ledger` by default. */
  readonly file?: 'ledger' | 'reports' | 'suspects';
  readonly from: string;
  readonly to: string;
}

/** Load the built ledger, with a fault if one is given. */
export async function loadLedger(fault?: Fault): Promise<LedgerClass> {
  const { file = 'ledger' } = fault ?? {};
  const faulty = fault && { file, url: await loadable(file, (code) => replaceOnce(code, fault)) };
  const ledger =
    faulty?.file === 'ledger'
      ? faulty.url
      : await loadable('ledger', (code) =>
          faulty === undefined ? code : code.replace(`'./${faulty.file}.js'`, () => `'${faulty.url}'`),
        );
  return ((await import(ledger)) as { Ledger: LedgerClass }).Ledger;
}

/** The URL of a module with the changed code of this file. */
async function loadable(file: string, change: (code: string) => string): Promise<string> {
  const code = change(await readFile(new URL(`${file}.js`, BUILT), 'utf8'));
  const absolute = code.replaceAll(
    /from '(\.[^']+)'/g,
    (_, path: string) => `from '${new URL(path, BUILT)}'`,
  );
  return `data:text/javascript,${encodeURIComponent(absolute).replaceAll("'", '%27')}`;
}

function replaceOnce(code: string, { from, to }: Fault): string {
  const occurrences = code.split(from).length - 1;
  if (occurrences !== 1) throw new Error(`"${from}" occurs ${occurrences} times`);
  return code.replace(from, () => to);
}
