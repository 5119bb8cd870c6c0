import { PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { expect } from 'vitest';
import type { Scene } from '../prelude.ts';
import { lost, refused, type Stories } from '../story.ts';

/** The README says that `payments` is a client with a journal. */
const giveJournal = ({ names }: Scene) => {
  names.payments = new PaymentsClient({ journal: memoryJournal() });
};

export const readme: Stories = {
  'README.md, Quick start': [
    {
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: ["'paid: deliver order 17'"],
      charges: 1,
    },
    {
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: ["'not paid: failed'"],
      charges: 1,
    },
  ],
  'README.md, Handle errors': [
    { where: 'the charge is accepted', arrange: giveJournal, printed: [], charges: 1 },
    {
      where: 'the service refuses the charge',
      arrange(scene) {
        giveJournal(scene);
        scene.mock.fault('chargeMobileMoney', refused);
      },
      printed: [
        expect.stringMatching(/^invalid_request rejected /),
        "'We could not start the payment. Try again later.'",
      ],
      charges: 0,
    },
    {
      where: 'the response to the charge is lost',
      arrange(scene) {
        giveJournal(scene);
        scene.mock.fault('chargeMobileMoney', lost);
      },
      printed: [
        expect.stringMatching(/^outcome_unknown unknown /),
        "'order 17 needs a manual review'",
        "'We are checking your payment. Do not pay again.'",
      ],
      charges: 1,
    },
  ],
};
