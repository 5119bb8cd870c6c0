import type { Stories } from '../story.ts';

export const service: Stories = {
  'docs/reference/service.md, The payment service': [
    { where: 'the service responds', printed: ['true', "'25.50'"], charges: 0 },
  ],
};
