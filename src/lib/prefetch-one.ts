/**
 * Yields the same items, requesting each while the consumer still works on the one before. An error is thrown in its
 * place, after the items before it.
 */
export async function* prefetchOne<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  const ask = () => {
    const answer = iterator.next();
    answer.catch(() => {}); // rejects again where it is awaited
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
