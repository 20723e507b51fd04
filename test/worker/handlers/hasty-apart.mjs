import { wait } from './_wait.mjs';

export default { isolation: 'process', killAfter: 0, run: wait };
