import { undiciTransport } from '../../../src/node/index.ts';
import { testWithTransport } from '../../helpers/transport-under-test.ts';

testWithTransport(undiciTransport());

await import('../http/statuses.test.ts');
await import('../http/bodies.test.ts');
await import('../http/error-bodies.test.ts');
await import('../../property/odd-responses.test.ts');
await import('../http/mismatches.test.ts');
await import('../http/body-limit.test.ts');
