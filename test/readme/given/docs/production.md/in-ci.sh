echo '{ "name": "shop", "private": true, "type": "module", "scripts": { "test": "node --test" } }' > package.json
taskq init
