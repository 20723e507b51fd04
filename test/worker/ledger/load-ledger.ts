import { readFile } from 'node:fs/promises';
import type { Ledger } from '../../../src/worker/lease/ledger.ts';

/** The class under exploration: the product's own, or a copy with a fault. */
export type LedgerClass = typeof Ledger;

const BUILT = new URL('../../../dist/worker/lease/ledger.js', import.meta.url);

/** A small fault in the ledger: a piece of its code, which must occur exactly once, and its replacement. */
export interface Fault {
  readonly from: string;
  readonly to: string;
}

/** Load the built ledger, with a fault if one is given. */
export async function loadLedger(fault?: Fault): Promise<LedgerClass> {
  let code = await readFile(BUILT, 'utf8');
  if (fault !== undefined) {
    const occurrences = code.split(fault.from).length - 1;
    if (occurrences !== 1)
      throw new Error(`"${fault.from}" occurs ${occurrences} times in ${BUILT.pathname}`);
    code = code.replace(fault.from, () => fault.to);
  }
  const absolute = code.replaceAll(
    /from '(\.[^']+)'/g,
    (_, path: string) => `from '${new URL(path, BUILT)}'`,
  );
  const loaded = (await import(`data:text/javascript,${encodeURIComponent(absolute)}`)) as {
    Ledger: LedgerClass;
  };
  return loaded.Ledger;
}
