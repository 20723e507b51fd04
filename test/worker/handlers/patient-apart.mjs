import { wait } from './_wait.mjs';

export default { isolation: 'process', killAfter: '10m', run: wait };
