import { bookWith } from './_book.mjs';

export default bookWith(() => process.pid);
