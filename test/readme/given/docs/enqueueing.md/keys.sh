mkdir handlers
echo 'export default () => {};' > handlers/send-email.js
echo 'export default () => {};' > handlers/reindex.js
