import { sql, witness } from '../../application.mjs';

/** Writes its AgentEvent, once however often it runs, and leaves an embedding job with its end. */
export default {
  backoff: { kind: 'fixed', base: '10ms' },
  async run({ part, fails }, ctx) {
    await witness(ctx, 'begun');
    await sql(
      'insert into app.agent_events values ($1, $2, $3) on conflict (task_id) do nothing',
      ctx.id,
      ctx.queue,
      `part ${part} fits`,
    );
    await ctx.enqueue('embed_event', { event: ctx.id }, { queue: 'embedding_jobs' });
    if (fails && ctx.attempt === 1) throw new Error('the model does not answer');
    await witness(ctx, 'done');
  },
};
