echo '{}' > tsconfig.json
taskq init
