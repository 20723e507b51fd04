import { wait } from './_wait.mjs';

export default wait;
