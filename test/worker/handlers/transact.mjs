import { transact } from './_transact.mjs';

export default transact;
