import { bookWith } from './_book.mjs';

export const isolation = 'process';
export default bookWith(() => process.ppid);
