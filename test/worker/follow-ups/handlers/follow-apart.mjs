export { follow as default } from './_follow.mjs';
export const isolation = 'process';
