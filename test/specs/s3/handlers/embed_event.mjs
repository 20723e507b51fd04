import { sql } from '../../application.mjs';

/** Embeds an AgentEvent. */
export default async ({ event }, ctx) => {
  const events = await sql('select from app.agent_events where task_id = $1', event);
  if (events.length === 0) throw new Error(`there is no event ${event}`);
  await sql('insert into app.embeddings values ($1, $2)', event, ctx.id);
};
