/** Enqueues a task after it has ended. */
export default async (_payload, ctx) => {
  setTimeout(() => {
    ctx.enqueue('checked', { to: 'ann' }).catch(({ code }) => ctx.log.info(`late: ${code}`));
  }, 50);
};
