import run from './_parents.mjs';

export default { isolation: 'process', run };
