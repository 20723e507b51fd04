/** The type that the sample handler handles. */
export const SAMPLE_TYPE = 'hello';

export const CONFIG = `// Settings of taskq; \`taskq config\` prints them all, and where each comes from.
export default {
  // A task is tried 20 times before it is a dead letter. With the usual back-off (5 s, doubling up to 1 h) that is about
  // ten hours: most outages of what a handler needs are over by then. The database's own 3 attempts give up after
  // 15 seconds. A handler can say otherwise for its type.
  maxAttempts: 20,
};
`;

export const HANDLER = `// Runs the tasks of type \`hello\`: the name of this file. What it returns is the task's result; when it throws, the
// attempt has failed and is made again later.
export default async function hello(payload, ctx) {
  ctx.log.info('saying hello');
  return \`hello \${payload.name}\`;
}
`;
