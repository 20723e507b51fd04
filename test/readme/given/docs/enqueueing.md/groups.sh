mkdir handlers
echo 'export default () => {};' > handlers/send-email.js
