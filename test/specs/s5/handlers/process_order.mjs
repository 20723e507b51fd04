import { Retry } from 'taskq';
import { failIfOut, passGate, witness } from '../../application.mjs';

export default {
  async run({ order }, ctx) {
    await witness(ctx, 'begun');
    await passGate();
    try {
      await failIfOut(ctx);
    } catch (cause) {
      throw new Retry({ message: 'the bank does not answer', cause, result: { order, reached: 'bank' } });
    }
    await witness(ctx, 'done');
    return { order, attempt: ctx.attempt };
  },
};
