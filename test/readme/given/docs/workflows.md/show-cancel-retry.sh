echo '{"name": "import", "steps": [
  {"step": "fetch", "type": "fetch"},
  {"step": "parse", "type": "parse", "after": ["fetch"]}
]}' > import.json
