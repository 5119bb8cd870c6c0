import { followUps } from '../_shared/payments.ts';

/** The form of the service's webhooks is not known. If this guess is wrong, only the notification is lost. */
Deno.serve(async (request) => {
  const body: unknown = await request.json().catch(() => undefined);
  // Do not trust the caller. A notification only makes the payment due for a check.
  await followUps.notify(String(Object(body).reference));
  return new Response(null, { status: 202 });
});
