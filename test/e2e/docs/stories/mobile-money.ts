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
};
