import { wait } from './_wait.mjs';

export default { isolation: 'inline', run: wait };
