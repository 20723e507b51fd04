#!/usr/bin/env node
import { main } from '../dist/cli/main.js';

process.exitCode = await main(process.argv.slice(2), process.env);
// After a signal nobody waits for what is still under way.
if (process.exitCode > 128) process.exit();
// Nor does a worker that has ended for what a handler left open, a timer or a pool of its own. Unref'd: a process
// without such a thing ends by itself.
setTimeout(() => process.exit(), 100).unref();
