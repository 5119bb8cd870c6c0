// Ends with 1 where a tag does not fit package.json and CHANGELOG.md: node .github/check-release.js v1.2.3 owner/repository
import { readFileSync } from 'node:fs';

const [tag = '', repository = ''] = process.argv.slice(2);
const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const { version, repository: named } = JSON.parse(read('package.json'));
const sourceVersion = /version = '([^']+)'/.exec(read('src/support/version.ts'))?.[1];

const faults = [
  tag !== `v${version}` && `The tag is ${tag}, package.json says ${version}.`,
  sourceVersion !== version && `src/support/version.ts says ${sourceVersion}, package.json ${version}.`,
  !new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(
    read('CHANGELOG.md'),
  ) && `CHANGELOG.md has no heading "## [${version}] - <date>".`,
  // npm attests provenance only where package.json names the repository that the package is built in.
  repository !== '' &&
    !String(named?.url ?? named).includes(repository) &&
    `package.json has to name ${repository} as its repository.`,
].filter(Boolean);

for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
