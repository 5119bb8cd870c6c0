import { undiciTransport } from '../../../src/node/index.ts';
import { testOver } from '../../helpers/transport-under-test.ts';

testOver(undiciTransport());

await import('../http/error-bodies.test.ts');
await import('../http/errors.test.ts');
await import('../../property/odd-responses.test.ts');
await import('../http/odd-bodies.test.ts');
await import('../http/odd-statuses.test.ts');
await import('../http/refusals.test.ts');
await import('../http/unusable-answers.test.ts');
await import('../http/huge-answers.test.ts');
