export default () => 'js';
