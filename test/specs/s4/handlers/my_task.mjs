import { passGate, witness } from '../../application.mjs';

/** The argument is a number. */
const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value.x === 'number' ? { value } : { issues: [{ message: 'expected a number', path: ['x'] }] },
  },
};

export default {
  schema,
  async run({ x }, ctx) {
    await witness(ctx, 'begun');
    await passGate();
    await witness(ctx, 'done');
    return { value: x * 2 };
  },
};
