import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pages } from './pages.ts';
import { findFaults, needsInstallation, type ShellBlock, shellBlocksOf } from './shell-blocks.ts';
import { splitCommands } from './split-commands.ts';

/** Blocks that a test runs, by their page. Without `isRun`, it runs each of the page. */
const ran: Record<string, { readonly by: string; isRun?(code: string): boolean }> = {
  'docs/getting-started.md': { by: 'getting-started.test.ts' },
  'docs/runbook.md': { by: 'runbook.test.ts' },
  'docs/reference/sandbox-api.md': { by: 'sandbox-api.test.ts' },
  'docs/reference/payment-journal.md': {
    by: 'journal-command.test.ts',
    isRun: (code) => /^(?:#!\/bin\/sh|curl )/.test(code),
  },
};

const isRun = ({ page, code }: ShellBlock) => {
  const test = ran[page.path];
  return test !== undefined && (test.isRun?.(code) ?? true);
};

test.each(Object.entries(ran))('runs shell blocks of %s', (path, { by }) => {
  expect(readFileSync(new URL(by, import.meta.url), 'utf8')).toContain(path);
  expect(
    pages
      .filter((page) => page.path === path)
      .flatMap(shellBlocksOf)
      .filter(isRun),
  ).not.toEqual([]);
});

const blocks = pages.flatMap(shellBlocksOf).filter((block) => !isRun(block));

test.each(blocks.map((block) => [`${block.page.path}:${block.line}`, block] as const))(
  'shows commands that exist: %s',
  (_, block) => {
    expect(findFaults(block)).toEqual([]);
  },
);

test.each(pages.map((page) => [page.path, page] as const))(
  'says that the package is installed if npx runs its command: %s',
  (_, page) => {
    expect(needsInstallation(page)).toBe(false);
  },
);

test('splits a script into commands', () => {
  const script = `#!/bin/sh
# npm run lost
A=1 npm run b # c
(cd ../.. && npm ci); found=$(npx x "$(y)" 2>&1) || printf '%s
%s' "a b" | grep "$A" > out.txt &
node --eval "
  f();" \\
  --more#1
cat > a.ts <<'END'
npm run lost
END
echo done`;
  expect(splitCommands(script)).toEqual([
    ['A=1', 'npm', 'run', 'b'],
    ['('],
    ['cd', '../..'],
    ['npm', 'ci'],
    [')'],
    ['npx', 'x', '$(y)'],
    ['found=$()'],
    ['printf', '%s\n%s', 'a b'],
    ['grep', '$A'],
    ['node', '--eval', '\n  f();', '--more#1'],
    ['cat'],
    ['echo', 'done'],
  ]);
});

test('reports each wrong command', () => {
  const fence = '```';
  const text = `${fence}ts
// charge.mjs
${fence}
${fence}sh
npm run lost && npm run test
npm install payment-collection-client left-pad@1 zod@4
npx payment-sandbox --port 0 --prot 0
npx payment-journal lits
npx -p payment-collection-client payment-journal list --state all --reference 1
npx cowsay
PAYMENTS_API_KEY=a PAYMENT_KEY=b node charge.mjs
node lost.mjs
cp -r node_modules/payment-collection-client/examples/workflows/plain node_modules/payment-collection-client/src .
cd plain && node server.ts && npm run next
curl https://example.com
rm -rf /
${fence}
1. ${fence}
   ${fence}bash
   ls
   ${fence}
`;
  const page = { path: 'docs/guides/page.md', text };
  expect(shellBlocksOf(page).flatMap(findFaults)).toEqual([
    'docs/guides/page.md:5 npm run lost: there is no script lost',
    'docs/guides/page.md:5 npm install payment-collection-client left-pad@1 zod@4: no package.json names left-pad@1',
    'docs/guides/page.md:5 npx payment-sandbox --port 0 --prot 0: payment-sandbox has no option --prot',
    'docs/guides/page.md:5 npx payment-journal lits: payment-journal has no command lits',
    'docs/guides/page.md:5 npx -p payment-collection-client payment-journal list --state all --reference 1: payment-journal has no option --reference',
    'docs/guides/page.md:5 npx cowsay: the project does not have cowsay',
    'docs/guides/page.md:5 PAYMENTS_API_KEY=a PAYMENT_KEY=b node charge.mjs: nothing reads PAYMENT_KEY',
    'docs/guides/page.md:5 node lost.mjs: there is no file lost.mjs',
    'docs/guides/page.md:5 cp -r node_modules/payment-collection-client/examples/workflows/plain node_modules/payment-collection-client/src .: the package has no node_modules/payment-collection-client/src',
    'docs/guides/page.md:5 npm run next: there is no script next',
    'docs/guides/page.md:5 curl https://example.com: this curl calls no local server, and no test runs it',
    'docs/guides/page.md:5 rm -rf /: it is of no known kind, and no test runs it',
    'docs/guides/page.md:20 is a block of bash: write sh',
  ]);
  expect(needsInstallation(page)).toBe(false);
  expect(needsInstallation({ ...page, text: 'Run `npx payment-sandbox`.' })).toBe(true);
});
