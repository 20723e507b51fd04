mkdir handlers
echo 'export default () => {};' > handlers/greet.js
for n in $(seq 40); do echo '{"name":"Ann"}'; done | taskq enqueue greet --file -
