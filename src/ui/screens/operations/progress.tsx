import type { Operation } from '../../lib/operations.ts';
import { count } from '../../lib/text.ts';

/** How many of its tasks an operation has dealt with. */
export function Progress({ of: { matched, atLeast, done, skipped, failed } }: { readonly of: Operation }) {
  const dealtWith = done + skipped + failed;
  const text = `${count(dealtWith)} of ${count(matched)}${atLeast ? ' or more' : ''}`;
  return (
    <span class="progress">
      <progress max={Math.max(matched, 1)} value={matched === 0 ? 1 : dealtWith} aria-label={text} />
      {text}
    </span>
  );
}
