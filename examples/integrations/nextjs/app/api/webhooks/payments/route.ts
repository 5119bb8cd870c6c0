import type { NextRequest } from 'next/server';
import { findReferences } from '../../../../../shop/parse-request.ts';
import { getShop } from '../../../../lib/shop.ts';

/**
 * Makes the waits of this process check now. It reads no status, because anyone can send a webhook. With several processes,
 * or on a platform that freezes them, there might be no wait here: use follow-ups.
 */
export async function POST(request: NextRequest): Promise<Response> {
  for (const reference of findReferences(await request.text())) getShop().payments.notify(reference);
  return new Response(null, { status: 204 });
}
