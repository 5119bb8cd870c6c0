import { accepted, approves, declines, type Stories } from '../story.ts';

const PROMPT = "processing A prompt has been sent to the customer's phone.";

export const mobileMoney: Stories = {
  'docs/guides/mobile-money.md, Charge Mobile Money': [
    { ...approves, printed: [PROMPT, "'paid'"], charges: 1 },
    { ...declines, printed: [PROMPT, "'not paid: failed'"], charges: 1 },
  ],
  'docs/guides/mobile-money.md, Normalise phone numbers': [
    { ...accepted, where: 'the phone is typed in two ways' },
  ],
  'docs/guides/mobile-money.md, Charge again after a declined payment': [
    {
      where: 'the customer declines, and then approves',
      arrange({ mock }) {
        mock.settleAfter('next', 20_000, 'failed');
        mock.settleAfter('next', 20_000, 'success');
      },
      printed: ['order-17/1 failed', 'order-17/2 success'],
      charges: 2,
    },
  ],
};
