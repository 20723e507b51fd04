// What follows a death: no type may follow its own.
export { default } from './witness.mjs';
