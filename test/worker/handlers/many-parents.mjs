export { default } from './_many-parents.mjs';
