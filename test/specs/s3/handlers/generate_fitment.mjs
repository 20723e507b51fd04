import { failIfOut, passGate, witness } from '../../application.mjs';

export default {
  backoff: { kind: 'quadratic', base: '5s', jitter: 0 },
  async run({ part }, ctx) {
    await witness(ctx, 'begun');
    await passGate();
    await failIfOut(ctx);
    await witness(ctx, 'done');
    return { part, fits: true };
  },
};
