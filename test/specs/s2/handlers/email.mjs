import type { HandlerDefinition } from 'taskq';
import { failIfOut, witness } from '../../application.ts';

export default {
  async run(_, ctx) {
    await failIfOut(ctx);
    await witness(ctx, 'done');
  },
} satisfies HandlerDefinition<{ send_email_attempt_id: number }>;
