export default () => 'mjs';
