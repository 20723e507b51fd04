/** Enqueues as many tasks as it is told, and says how the first one was refused. */
export default async ({ count, length = 0 }, ctx) => {
  const text = 'x'.repeat(length);
  for (let n = 1; n <= count; n++) {
    const problem = await ctx.enqueue('late', { text }, { delay: '1h' }).catch((error) => error.code);
    if (problem !== undefined) return { n, problem };
  }
};
