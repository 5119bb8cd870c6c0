import { followUps } from '../_shared/payments.ts';

/** Less than the platform lets a function run, in milliseconds. */
const BUDGET = 20_000;

/** Cron calls it every minute. It does what is due, and the next call does the rest. */
Deno.serve(async (request) => {
  const secret = Deno.env.get('CRON_SECRET');
  if (!secret || request.headers.get('authorization') !== `Bearer ${secret}`)
    return new Response(null, { status: 401 });
  try {
    return Response.json(await followUps.sweep({ budget: BUDGET }));
  } catch (error) {
    // What is due stays due. An alert on this status or line tells you that the API key or the database fails.
    console.error('The sweep failed:', error);
    return new Response(null, { status: 500 });
  }
});
