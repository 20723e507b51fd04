import type { TaskContext } from 'taskq';

export default async function hello({ name }: { name: string }, ctx: TaskContext): Promise<object> {
  ctx.log.info('greeting', { name });
  return { hello: name, id: ctx.id, type: ctx.type, queue: ctx.queue, attempt: ctx.attempt };
}
