import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the tests that the README shows are the ones that run', () => {
  const shown = read('test/testing/merchant-examples.test.ts')
    .replaceAll("'../../src/index.ts'", "'payment-collection-client'")
    .replaceAll("'../../src/testing/index.ts'", "'payment-collection-client/testing'");
  expect(read('README.md')).toContain(`\`\`\`ts\n${shown}\`\`\`\n`);
});

test.each(['npm ci && npm run demo', 'npm cit'])('the README shows %s', (command) => {
  expect(read('README.md')).toContain(`\`\`\`sh\n${command}\n\`\`\`\n`);
});
