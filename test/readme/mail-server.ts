import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A mail service for the examples: a recipient called gone is gone, one called busy is busy. */
export async function startMailServer(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    let to = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      to += text;
    });
    request.on('end', () => {
      response.statusCode = to.startsWith('gone@') ? 410 : to.startsWith('busy@') ? 503 : 202;
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}
