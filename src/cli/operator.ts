import { hostname } from 'node:os';

/** Who gives an order, for those who find it later: `ann@host`. */
export async function operatorName(): Promise<string> {
  const { userName } = await import('../embedded/account.ts');
  return `${await userName(process.getuid?.() ?? -1)}@${hostname()}`;
}
