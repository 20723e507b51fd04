import { crash } from './_crash.mjs';

export default crash;
