import type { HandlerDefinition } from 'taskq';
import { deleteByConversationGroupId } from '../vector-store.ts';

export default {
  maxAttempts: 'unlimited',
  backoff: { kind: 'fixed', base: '10m', jitter: 0 },
  retention: 'none',
  run: ({ conversationGroupId }) => deleteByConversationGroupId(conversationGroupId),
} satisfies HandlerDefinition<{ conversationGroupId: string }>;
