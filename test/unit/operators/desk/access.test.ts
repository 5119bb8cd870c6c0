import { describe, expect, test } from 'vitest';
import { createReviewDesk } from '../../../../src/operators/desk/index.ts';
import { catchError } from '../../../helpers/service.ts';
import { openDesk } from './open-desk.ts';

const FORM = { payment: 'order 17/1', offer: 'closed', reason: 'paid back' };

describe('a person', () => {
  test.each([
    ['nobody', undefined],
    ['null', () => null],
    ['undefined', async () => undefined],
    ['an empty name', () => ' '],
    ['a name of two lines', () => 'kofi\nama'],
    ['a name that is too long', () => 'k'.repeat(201)],
  ])('is refused if authorize names %s', async (_what, authorize) => {
    const { own, open, send, loseResponse } = openDesk({ authorize });
    await loseResponse('17');
    for (const query of ['?', '?order=17', '?find=17', '?asset=style.css']) {
      const { status, html } = await open(query);
      expect(status).toBe(401);
      expect(html).not.toContain('25.50');
    }
    expect(await send('?order=17', FORM)).toMatchObject({ status: 401 });
    expect(await own.journal.read('17/1')).toMatchObject({ resolutions: [] });
  });

  test('is led to the login of the shop', async () => {
    const { desk } = openDesk({
      authorize: () => new Response(null, { status: 302, headers: { location: '/login' } }),
    });
    const response = await desk(new Request('https://shop.example/admin'));
    expect([response.status, response.headers.get('location')]).toEqual([302, '/login']);
  });

  test('meets the error handler of the framework if authorize throws', async () => {
    const { desk } = openDesk({ authorize: () => Promise.reject(new Error('no session store')) });
    expect(await catchError(desk(new Request('https://shop.example/admin')))).toMatchObject({
      message: 'no session store',
    });
  });

  test('is named in the record as authorize says', async () => {
    const { own, send, loseResponse } = openDesk({ authorize: ({ headers }) => headers.get('x-user') });
    await loseResponse('17');
    const headers = { 'sec-fetch-site': 'same-origin', 'x-user': ' ama@shop.example ' };
    await send('?order=17', { ...FORM, by: 'mallory' }, headers);
    expect(await own.journal.read('17/1')).toMatchObject({ resolutions: [{ by: 'ama@shop.example' }] });
  });
});

describe('a form', () => {
  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    [
      'another site that names the origin of the shop',
      { 'sec-fetch-site': 'cross-site', origin: 'https://shop.example' },
    ],
    ['another host of the site', { 'sec-fetch-site': 'same-site', origin: 'https://blog.shop.example' }],
    ['no page', { 'sec-fetch-site': 'none' }],
    ['an old browser on another site', { origin: 'https://evil.example' }],
    ['an old browser on another port', { origin: 'https://shop.example:8443' }],
    ['a page without an origin', { origin: 'null' }],
    ['a script without a browser', {}],
  ])('of %s changes nothing', async (_what, headers) => {
    const { own, send, loseResponse } = openDesk();
    await loseResponse('17');
    expect(await send('?order=17', FORM, headers)).toMatchObject({ status: 403 });
    expect(await own.journal.read('17/1')).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  test.each([
    ['the desk', { 'sec-fetch-site': 'same-origin' }],
    ['the desk, over plain http', { origin: 'https://shop.example' }],
    ['the desk, behind a proxy that ends TLS', { origin: 'http://shop.example', host: 'shop.example' }],
  ])('of %s is taken', async (_what, headers) => {
    const { own, send, loseResponse } = openDesk();
    await loseResponse('17');
    expect(await send('?order=17', FORM, headers)).toMatchObject({ status: 200 });
    expect(await own.journal.read('17/1')).toMatchObject({ state: 'closed' });
  });

  const OWN_PAGE = { 'sec-fetch-site': 'same-origin' };

  test.each([
    ['JSON', 400, { body: JSON.stringify(FORM), headers: { 'content-type': 'application/json' } }],
    ['no fields', 400, { body: new URLSearchParams() }],
    ['too many bytes', 413, { body: new URLSearchParams({ ...FORM, reason: 'x'.repeat(40_000) }) }],
  ])('of %s is refused', async (_what, status, init) => {
    const { own, desk, loseResponse } = openDesk();
    await loseResponse('17');
    const headers = { ...OWN_PAGE, ...('headers' in init ? init.headers : {}) };
    const response = await desk(
      new Request('https://shop.example/?order=17', { method: 'POST', ...init, headers }),
    );
    expect(response.status).toBe(status);
    expect(await own.journal.read('17/1')).toMatchObject({ resolutions: [] });
  });

  test('on the page of nothing is refused', async () => {
    expect(await openDesk().send('?', FORM)).toMatchObject({ status: 400 });
  });
});

describe('a response', () => {
  test.each(['?', '?order=17', '?asset=style.css', '?find=1'])(
    'to %s can be framed and cached by nobody',
    async (query) => {
      const { headers } = await openDesk().open(query);
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(headers.get('content-security-policy')).not.toContain('script-src');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  test('to HEAD has no body, and other methods are refused', async () => {
    const { desk } = openDesk();
    const head = await desk(new Request('https://shop.example/desk', { method: 'HEAD' }));
    expect([head.status, await head.text()]).toEqual([200, '']);
    const put = await desk(new Request('https://shop.example/desk', { method: 'PUT' }));
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  });
});

test.each([
  ['an unknown option', { authorise: () => 'kofi' }, 'Did you mean authorize?'],
  ['a wrong authorize', { authorize: 'kofi' }, 'authorize must be a function.'],
  ['wrong order payments', { orderPayments: {} }, 'orderPayments must be what createOrderPayments returned.'],
])('refuses %s', (_what, wrong, message) => {
  const { own } = openDesk();
  const { payments, journal } = own;
  const options: object = { payments, journal, ...wrong };
  expect(() => Reflect.apply(createReviewDesk, undefined, [options])).toThrow(message);
});

test('refuses a journal that is not the one of the client', () => {
  const [one, other] = [openDesk().own, openDesk().own];
  expect(() => createReviewDesk({ payments: one.payments, journal: other.journal })).toThrow(
    'journal must be the very journal that the client was given.',
  );
});
