#!/usr/bin/env node
import { main } from '../dist/bundled/main.js';

process.exitCode = await main(process.argv.slice(2), process.env);
// After a signal, do not wait for work still under way.
if (process.exitCode > 128) process.exit();
// Do not let a timer or a pool that a handler left open keep an ended worker alive. Unref'd: a process without those
// ends by itself.
setTimeout(() => process.exit(), 100).unref();
