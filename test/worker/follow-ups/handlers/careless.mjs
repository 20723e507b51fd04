/** Enqueues a task and does not wait until it is checked. */
export default async ({ type = 'checked', payload }, ctx) => {
  ctx.enqueue(type, payload);
};
