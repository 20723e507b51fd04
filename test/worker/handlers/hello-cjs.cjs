module.exports = async () => 'cjs';
