import { undiciTransport } from '../../src/node/index.ts';
import { testOver } from '../support/transport-under-test.ts';

testOver(undiciTransport());

await import('../transport/error-bodies.test.ts');
await import('../transport/errors.test.ts');
await import('../transport/odd-answers.test.ts');
await import('../transport/odd-bodies.test.ts');
await import('../transport/odd-statuses.test.ts');
await import('../transport/refusals.test.ts');
await import('../transport/unusable-answers.test.ts');
await import('../transport/huge-answers.test.ts');
