mkdir -p handlers
echo "export default async () => ({ title: 'Sales', rows: 0 });" > handlers/header.js
echo "export default async () => ({ rows: 2 });" > handlers/page.js
cat > report.json <<'JSON'
{
  "name": "report",
  "steps": [
    { "step": "header", "type": "header" },
    { "step": "page-1", "type": "page" },
    { "step": "page-2", "type": "page" },
    { "step": "sum", "type": "sum", "after": ["header", "page-1", "page-2"] }
  ]
}
JSON
