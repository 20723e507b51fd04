import { crash } from './_crash.mjs';

export const isolation = 'process';
export default crash;
