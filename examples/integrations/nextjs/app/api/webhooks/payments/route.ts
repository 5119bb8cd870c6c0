import { getShop } from '../../../../lib/shop.ts';

/** Makes a payment due for a check. It reads no status, because anyone can send a webhook. */
export async function POST(request: Request): Promise<Response> {
  await getShop().orderPayments.notify(await request.text());
  return new Response(null, { status: 204 });
}
