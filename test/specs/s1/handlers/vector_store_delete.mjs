import { deleteByConversationGroupId } from '../vector-store.mjs';

export default {
  maxAttempts: 'unlimited',
  backoff: { kind: 'fixed', base: '10m', jitter: 0 },
  retention: 'none',
  run: ({ conversationGroupId }) => deleteByConversationGroupId(conversationGroupId),
};
