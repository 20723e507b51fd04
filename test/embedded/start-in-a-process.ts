import { startEmbedded } from '../../src/embedded/start.ts';

// Prints the pid of the server it came to.
const server = await startEmbedded({ stateDir: process.argv[2]! });
console.log(server.pid);
