import { sendJson, startService, successBodies } from '../../helpers/service.ts';

/** Starts a service that holds a charge after `arrived`, until `respond` is called. */
export async function heldService() {
  const arrived = Promise.withResolvers<void>();
  const respond = Promise.withResolvers<void>();
  const service = await startService(async (response) => {
    arrived.resolve();
    await respond.promise;
    sendJson(response, 200, successBodies.chargeMobileMoney());
  });
  return { service, arrived: arrived.promise, respond: respond.resolve };
}
