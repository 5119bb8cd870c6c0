import { type NextRequest, NextResponse } from 'next/server';
import { findReferences } from '../../../../shop/parse-request.ts';
import { getShop } from '../../../lib/shop.ts';

/** The service's webhook. It is never believed: it only makes a payment due for a check. */
export async function POST(request: NextRequest): Promise<NextResponse> {
  const references = findReferences(await request.text());
  await Promise.all(references.map((reference) => getShop().followUps.notify(reference)));
  return new NextResponse(null, { status: 202 });
}
