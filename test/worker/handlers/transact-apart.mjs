import { transact } from './_transact.mjs';

export default { isolation: 'process', run: transact };
