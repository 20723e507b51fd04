import { dbFunctionHandler } from 'taskq';

/**
 * Calls the SQL function that the payload names. One that raises is called again, also where failures complete a task:
 * no later run would check on its process.
 */
export default dbFunctionHandler({ timeout: '1m', onFailure: 'retry', maxAttempts: 10 });
