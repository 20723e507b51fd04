/** Four attempts: S4's `max_retries` of 3. */
export default {
  maxAttempts: 4,
  backoff: { kind: 'exponential', base: '5s', factor: 2, jitter: 0 },
  run() {
    throw new TypeError('the service is out');
  },
};
