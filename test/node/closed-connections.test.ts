import { undiciTransport } from '../../src/node/index.ts';
import { testOver } from '../support/transport-under-test.ts';

testOver(undiciTransport());

await import('../transport/closed-while-busy.test.ts');
await import('../transport/idle-connection.test.ts');
