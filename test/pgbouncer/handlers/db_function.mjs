import { dbFunctionHandler } from 'taskq';

export default dbFunctionHandler();
