export { default } from './_parents.mjs';
