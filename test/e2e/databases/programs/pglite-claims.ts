/** Claims one key after the other in PGlite, and prints each once it is claimed, until it is killed. */

import { tryClaim } from '../../../helpers/claims.ts';
import { database } from '../kinds/pglite.ts';

const [place = ''] = process.argv.slice(2);
await database.prepare(place);
const { journal } = await database.open(place);
for (let index = 0; ; index++) {
  const { state } = await tryClaim(journal, `order-${index}`);
  if (state === 'claimed') process.stdout.write(`order-${index}\n`);
}
