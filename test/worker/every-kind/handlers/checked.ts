import { defineHandler } from 'taskq';

/** Takes only `{ to: { email: string } }`. */
export default defineHandler<{ to: { email: string } }>({
  schema: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const email = (value as { to?: { email?: unknown } }).to?.email;
        return typeof email === 'string'
          ? { value: { to: { email: email.trim() } } }
          : { issues: [{ message: 'expected text', path: ['to', { key: 'email' }] }] };
      },
    },
  },
  run: ({ to }) => to.email,
});
