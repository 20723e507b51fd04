import { dbFunctionHandler } from 'taskq';

/** Calls the SQL function that the payload names. One that fails is called again, up to ten times. */
export default dbFunctionHandler({ timeout: '1m', maxAttempts: 10 });
