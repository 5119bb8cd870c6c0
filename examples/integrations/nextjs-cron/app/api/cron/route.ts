import { type NextRequest, NextResponse } from 'next/server';
import { getShop } from '../../../lib/shop.ts';

/** How long the platform lets this function run, in seconds. */
export const maxDuration = 60;

/** Less than `maxDuration`, in milliseconds. What is not done by then is due at the next call. */
const BUDGET = 50_000;

/** Vercel calls it by the schedule in `vercel.json`, with the secret of the project. */
export async function GET(request: NextRequest): Promise<NextResponse> {
  const secret = process.env.CRON_SECRET;
  if (!secret || request.headers.get('authorization') !== `Bearer ${secret}`)
    return new NextResponse(null, { status: 401 });
  try {
    return NextResponse.json(await getShop().followUps.sweep({ budget: BUDGET }));
  } catch (error) {
    // What is due stays due. An alert on this status or line tells you that the API key or the database fails.
    console.error('The sweep failed:', error);
    return new NextResponse(null, { status: 500 });
  }
}
