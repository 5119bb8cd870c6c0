import { constants, createSecureServer, type Http2ServerRequest } from 'node:http2';
import { createCertificate } from '../../helpers/certificate.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { successBodies } from '../../helpers/service.ts';
import type { ChargeCounts } from './dropping-service.ts';

export const refusals = ['REFUSED_STREAM', 'GOAWAY'] as const;

export const certificate = createCertificate();

/** Starts a service that refuses the first charge over HTTP/2. Over HTTP/1.1 it responds as usual. */
export async function startRefusingService(
  refusal: (typeof refusals)[number],
): Promise<{ baseUrl: string; seen: ChargeCounts }> {
  const seen: ChargeCounts = { charges: 0, charged: 0, connections: 0, hasFaulted: false };
  const refuse = ({ stream }: Http2ServerRequest) => {
    seen.hasFaulted = true;
    if (refusal === 'GOAWAY') stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 0);
    else stream.close(constants.NGHTTP2_REFUSED_STREAM);
  };
  const server = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
    const isCharge = request.method === 'POST';
    request.resume().on('end', () => {
      if (isCharge) seen.charges++;
      // Over HTTP/1.1 it is a request of `node:http`, despite its type.
      if (isCharge && request.httpVersion === '2.0' && !seen.hasFaulted) return refuse(request);
      if (isCharge) seen.charged++;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(isCharge ? successBodies.chargeMobileMoney() : successBodies.verify()));
    });
  });
  server.on('secureConnection', (socket) => {
    seen.connections++;
    socket.on('error', () => {});
  });
  server.on('session', (session) => session.on('error', () => {}));
  server.on('sessionError', () => {});
  const port = await listenForTest(server);
  return { baseUrl: `https://127.0.0.1:${port}/api/v1`, seen };
}
