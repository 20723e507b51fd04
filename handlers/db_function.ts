import { dbFunctionHandler } from 'taskq';

/**
 * Calls the SQL function that the payload names. One that raises is called again, also where failures complete a task:
 * nobody would look at the process of a supervisor that has ended so.
 */
export default dbFunctionHandler({ timeout: '1m', onFailure: 'retry', maxAttempts: 10 });
