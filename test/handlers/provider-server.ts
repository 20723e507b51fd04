import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server that answers as the path says, and keeps what it has received. */
export async function startProvider() {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const path = request.url ?? '';
      received.push({ method: request.method ?? '', path, headers: request.headers, body });
      const answer = (status: number, text = '', headers: Record<string, string> = {}) =>
        response.writeHead(status, headers).end(text);
      switch (path.split('?')[0]) {
        case '/ok':
          return answer(200, '{"id": "m1"}');
        case '/broken':
          return answer(500, 'no disk');
        case '/busy':
          return answer(429, '', { 'retry-after': '120' });
        case '/moved':
          return answer(302, '', { location: '/ok' });
        case '/sign':
          return answer(
            200,
            JSON.stringify({ url: `${url}/object?signature=secret&of=${JSON.parse(body).object_key}` }),
          );
        case '/object':
          return answer(path.endsWith('gone') ? 404 : path.endsWith('locked') ? 423 : 204);
        case '/hang':
          return undefined;
        case '/drip':
          response.writeHead(200);
          response.write('x');
          return undefined;
        default:
          return answer(404);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
