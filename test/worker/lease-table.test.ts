import { expect, test } from 'vitest';
import { LeaseTable } from '../../src/worker/lease/lease-table.ts';

test('holds a lease of whatever id, a row may have been put in by hand', () => {
  const ids = ['0', '-1', '-9223372036854775808', '9223372036854775807'];
  const table = new LeaseTable(ids.length);
  const slots = ids.map((id) => table.add({ id, leaseNo: 1 }));
  const seenByOtherThread = new LeaseTable(table.shared);
  expect(seenByOtherThread.rows().map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  table.remove(slots[0]!);
  expect(seenByOtherThread.rows().map(({ id }) => id)).toEqual(expect.arrayContaining(ids.slice(1)));
  expect(seenByOtherThread.rows()).toHaveLength(ids.length - 1);
});
