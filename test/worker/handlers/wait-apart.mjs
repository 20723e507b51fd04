import { wait } from './_wait.mjs';

export default { isolation: 'process', run: wait };
