import { createRequire } from 'node:module';

/*
 * Load this before a worker that should only poll: no connection of this process receives a notification, as behind a
 * pooler that shares connections. Threads load it, too.
 */

const require = createRequire(new URL('../../dist/', import.meta.url));
const { Client } = require('pg') as { Client: { prototype: NodeJS.EventEmitter } };
const { emit } = Client.prototype;
Client.prototype.emit = function (this: NodeJS.EventEmitter, event: string | symbol, ...rest: unknown[]) {
  return event === 'notification' ? false : emit.call(this, event, ...rest);
};
