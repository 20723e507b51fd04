/**
 * The same items, each asked for while whoever reads them is still busy with the one before. A fault comes in its place,
 * after the items before it.
 */
export async function* prefetchOne<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  const ask = () => {
    const answer = iterator.next();
    answer.catch(() => {}); // whoever reads on hears of it
    return answer;
  };
  let next = ask();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = ask();
      yield value;
    }
  } finally {
    await next.catch(() => {});
    await iterator.return?.();
  }
}
