import { undiciTransport } from '../../../src/node/index.ts';
import { testWithTransport } from '../../helpers/transport-under-test.ts';

testWithTransport(undiciTransport());

await import('../http/aborts.test.ts');
await import('../http/events.test.ts');
await import('../http/retries.test.ts');
await import('../http/timeouts.test.ts');
