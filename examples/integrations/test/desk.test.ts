import { getRequestListener } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { createReviewDesk, type ReviewDesk } from 'payment-collection-client/review';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from './listen.ts';

const PATH = '/admin/payments';

/** Opens the desk of a shop that does not know whether the key `order-17` was charged. */
async function openDesk() {
  const journal = memoryJournal();
  const payments = new PaymentsClient({
    apiKey: 'sk_test_desk',
    baseUrl: 'https://payments.example/api/v1',
    journal,
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  });
  const input = {
    amount: '25.50',
    currency: 'GHS',
    customer_email: 'ama@example.com',
    phone: '0244123456',
    network: 'mtn',
  } as const;
  await payments.chargeMobileMoney(input, { idempotencyKey: 'order-17' }).catch(() => {});
  const desk = createReviewDesk({ payments, journal, authorize: () => 'kofi@shop.example' });
  return { journal, desk };
}

// As docs/guides/review.md mounts it.
const mounts = {
  Express: (desk: ReviewDesk) => {
    const app = express();
    app.use(PATH, getRequestListener(desk, { overrideGlobalObjects: false }));
    app.use(express.urlencoded());
    return listen(app);
  },
  Fastify: async (desk: ReviewDesk) => {
    const app = fastify();
    const handle = getRequestListener(desk, { overrideGlobalObjects: false });
    app.addContentTypeParser('application/x-www-form-urlencoded', (_request, _payload, done) => done(null));
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
      scope.all(PATH, (request, reply) => {
        reply.hijack();
        void handle(request.raw, reply.raw);
      });
    });
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
  },
  Hono: (desk: ReviewDesk) => {
    const app = new Hono();
    app.all(PATH, (context) => desk(context.req.raw));
    return listen(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  },
};

const form = { payment: 'key order-17', offer: 'closed', reason: 'paid back' };

const sendForm = (address: string) =>
  fetch(address, {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams(form),
    redirect: 'manual',
  });

describe.each(Object.entries(mounts))('the desk in %s', (_name, mount) => {
  test('leads from the list to a decision', async () => {
    const { journal, desk } = await openDesk();
    const { url, close } = await mount(desk);
    onTestFinished(close);
    const list = await fetch(`${url}${PATH}`);
    const [, link = ''] = /<a href="(\?key=[^"]+)"/.exec(await list.text()) ?? [];
    const page = new URL(link, `${url}${PATH}`);
    expect(await (await fetch(page)).text()).toContain('A charge might exist.');
    expect((await fetch(new URL('?asset=style.css', page))).headers.get('content-type')).toContain(
      'text/css',
    );

    const decided = await sendForm(page.href);
    expect(decided.status).toBe(303);
    const result = await fetch(new URL(decided.headers.get('location') ?? '', page));
    expect(new URL(result.url).pathname).toBe(PATH);
    expect(await result.text()).toContain('<b>Recorded.</b>');
    expect(await journal.read('order-17')).toMatchObject({ state: 'closed' });
  });
});

test('says what to do if Express has read its form', async () => {
  const { journal, desk } = await openDesk();
  const app = express();
  app.use(express.urlencoded());
  app.use(PATH, getRequestListener(desk, { overrideGlobalObjects: false }));
  const { url, close } = await listen(app);
  onTestFinished(close);
  const refused = await sendForm(`${url}${PATH}?key=order-17`);
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('mount the desk first'),
  ]);
  expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
});
