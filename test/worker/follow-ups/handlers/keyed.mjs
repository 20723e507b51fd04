/** Enqueues a task with this key. */
export default ({ key }, ctx) => ctx.enqueue('nowhere', {}, { key, delay: '1h', allowUnknown: true });
