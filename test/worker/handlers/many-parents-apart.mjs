import run from './_many-parents.mjs';

export default { isolation: 'process', run };
