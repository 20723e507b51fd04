export { follow as default } from './_follow.mjs';
