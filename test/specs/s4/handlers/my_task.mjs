import type { HandlerDefinition, StandardSchema } from 'taskq';
import { passGate, witness } from '../../application.ts';

/** The argument is a number. */
const schema: StandardSchema<{ x: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { x?: unknown }).x === 'number'
        ? { value: value as { x: number } }
        : { issues: [{ message: 'expected a number', path: ['x'] }] },
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
} satisfies HandlerDefinition<{ x: number }>;
