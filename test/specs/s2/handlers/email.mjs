import { failIfOut, witness } from '../../application.mjs';

export default {
  async run(_, ctx) {
    await failIfOut(ctx);
    await witness(ctx, 'done');
  },
};
