/** taskq as it is published: bundled. */
const bundled = new URL('../../dist/bundled/index.js', import.meta.url).href;

export const { createWorker, dbFunctionHandler, TaskQueue } = (await import(
  bundled
)) as typeof import('../../dist/index.js');
