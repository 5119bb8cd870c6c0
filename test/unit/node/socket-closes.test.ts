import { undiciTransport } from '../../../src/node/index.ts';
import { testOver } from '../../helpers/transport-under-test.ts';

testOver(undiciTransport());

await import('../http/socket-closes.test.ts');
await import('../http/idle-connections.test.ts');
