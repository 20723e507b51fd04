import { defineChannel } from 'taskq';

/** Its provider never answers, whatever it is asked. */
export default defineChannel({ call: () => new Promise(() => {}) });
