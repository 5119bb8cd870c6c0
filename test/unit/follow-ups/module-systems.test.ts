import { expect, test } from 'vitest';
import { createMerchantProject, runCode } from '../../helpers/installed-package.ts';

const NAME = 'payment-collection-client';

test.each([
  ['require', 'import'],
  ['import', 'require'],
])('follows a client that was loaded by %s, when it was loaded by %s', async (client, followUps) => {
  const project = await createMerchantProject();
  const { stdout, stderr } = await runCode(
    project,
    'commonjs',
    `(async () => {
      const load = { import: (name) => import(name), require };
      const { PaymentsClient } = await load.${client}('${NAME}');
      const { memoryJournal } = await load.${client}('${NAME}/journal');
      const { createFollowUps } = await load.${followUps}('${NAME}/follow-ups');
      const journal = memoryJournal();
      const payments = new PaymentsClient({ apiKey: 'sk_test_x', baseUrl: 'https://payments.example', journal });
      const followUps = createFollowUps({ payments, journal, onFinal() {}, onAttention() {} });
      console.log(JSON.stringify(await followUps.sweep()));
    })()`,
  );
  const nothing = JSON.stringify({ checked: 0, final: 0, due: 0, nextAt: null });
  expect({ stdout, stderr }).toEqual({ stdout: nothing, stderr: '' });
});
