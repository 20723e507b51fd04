mkdir handlers
echo 'export default () => {};' > handlers/export.js
