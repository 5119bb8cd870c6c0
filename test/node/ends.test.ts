import { undiciTransport } from '../../src/node/index.ts';
import { testOver } from '../support/transport-under-test.ts';

testOver(undiciTransport());

await import('../transport/aborts.test.ts');
await import('../transport/events.test.ts');
await import('../transport/leaks.test.ts');
await import('../transport/retries.test.ts');
await import('../transport/timeouts.test.ts');
