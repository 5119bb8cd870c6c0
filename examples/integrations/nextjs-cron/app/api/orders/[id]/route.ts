import { type NextRequest, NextResponse } from 'next/server';
import { MESSAGES } from '../../../../lib/messages.ts';
import { getShop } from '../../../../lib/shop.ts';

/** Returns the state of an order, from the database. However often the page asks, no request is sent to the service. */
export async function GET(
  _request: NextRequest,
  { params }: { params: Promise<{ id: string }> },
): Promise<NextResponse> {
  const { id } = await params;
  const order = await getShop().orders.find(id);
  if (!order) return NextResponse.json({ message: 'There is no such order.' }, { status: 404 });
  const { state } = order;
  return NextResponse.json({ state, message: MESSAGES[state] }, { headers: { 'cache-control': 'no-store' } });
}
