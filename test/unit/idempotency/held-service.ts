import { sendJson, startService, successBodies } from '../../helpers/service.ts';

/** A service that has a charge in hand, from `arrived` on, until it is told to answer. */
export async function heldService() {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const service = await startService(async (response) => {
    arrived.resolve();
    await answer.promise;
    sendJson(response, 200, successBodies.chargeMobileMoney());
  });
  return { service, arrived: arrived.promise, answer: answer.resolve };
}
