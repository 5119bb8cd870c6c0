import { expect, vi } from 'vitest';
import type { Scene } from '../prelude.ts';
import { lost, refused, type Stories, type Story } from '../story.ts';

const PATH = 'docs/guides/frameworks.md';
const REVIEWING = 'We are reviewing your payment, and will write to you. Please do not pay again.';
const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' };

const accepted = 'respond 200 {"message":"Please approve the payment on your phone."}';

/** The customer presses the button once for each of these bodies, and the shop responds so. */
function presses(where: string, bodies: object[], actions: string[], more: Partial<Story> = {}): Story {
  return {
    where,
    ...more,
    async afterwards(scene) {
      for (const [index, body] of bodies.entries()) {
        scene.post('/pay', { order: '17', ...customer, ...body });
        await vi.waitFor(() => expect(scene.actions).toHaveLength(index + 1));
      }
    },
    actions,
  };
}

/** Next.js keeps the shop of the page in `globalThis`. */
const forgetShop = () => void Reflect.deleteProperty(globalThis, 'shop');

const lose = ({ mock }: Scene) => void mock.fault('chargeMobileMoney', lost);
const refuse = ({ mock }: Scene) => void mock.fault('chargeMobileMoney', refused);

export const frameworks: Stories = {
  [`${PATH}, Use Express`]: [
    presses('the button is pressed twice', [{}, {}], [accepted, accepted], {
      charges: 1,
    }),
    presses(
      'the response is lost, and the button is pressed again',
      [{}, {}],
      [`respond 202 {"message":"${REVIEWING}"}`, `respond 202 {"message":"${REVIEWING}"}`],
      { arrange: lose, charges: 1 },
    ),
    presses(
      'the number is changed after the charge',
      [{}, { phone: '0201234567' }],
      [accepted, 'respond 200 {"message":"A payment is open already."}'],
      { charges: 1 },
    ),
    presses(
      'the service refuses the charge, and the button is pressed again',
      [{}, { phone: '0201234567' }],
      [
        'respond 422 {"message":"The payment was refused. Please check your number, or pay in another way."}',
        accepted,
      ],
      { arrange: refuse, charges: 1 },
    ),
    presses(
      'the email is not valid',
      [{ customer_email: 'ama' }],
      ['respond 422 {"message":"Please correct: customer_email."}'],
      { charges: 0 },
    ),
    presses(
      'the key of the shop is wrong',
      [{}],
      ['respond 503 {"message":"We could not start the payment. Please try again in a few minutes."}'],
      { arrange: () => void vi.stubEnv('PAYMENTS_API_KEY', 'sk_live_wrong'), charges: 0 },
    ),
  ],
  [`${PATH}, Use Hono or another fetch-style framework`]: [
    { where: 'the route is called', arrange: forgetShop, afterwards: forgetShop, charges: 1 },
  ],
};
