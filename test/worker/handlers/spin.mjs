import { spin } from './_spin.mjs';

export default spin;
