// Compares the public types of each entry point in dist with the reports in .ci/api-report, so that a change of the
// public surface is seen in review: npm run api-report. With --update it writes the reports: npm run api-report -- --update
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const root = resolve(import.meta.dirname, '..');
const reportFolder = join(root, '.ci/api-report');
const reportTempFolder = mkdtempSync(join(tmpdir(), 'api-report-'));
const isUpdate = process.argv.includes('--update');

const names = readdirSync(join(root, 'dist'))
  .filter((file) => file.endsWith('.d.ts'))
  .map((file) => file.replace('.d.ts', ''));
if (names.length === 0) throw new Error('dist has no types. Run npm run build first.');

/** Returns whether the report of an entry point was as it is now. */
function isUnchanged(name) {
  const mainEntryPointFilePath = join(root, `dist/${name}.d.ts`);
  const compilerOptions = {
    module: 'node16',
    moduleResolution: 'node16',
    target: 'es2023',
    lib: ['es2023', 'dom', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    skipLibCheck: true,
  };
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: join(root, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, include: [mainEntryPointFilePath] } },
      apiReport: {
        enabled: true,
        reportFolder,
        reportTempFolder,
        reportFileName: `${name}.api.md`,
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  });
  const messageCallback = (message) => {
    // Its own words about a changed report name folders that nobody has.
    message.handled = message.category === 'console';
  };
  const { apiReportChanged } = Extractor.invoke(config, { localBuild: isUpdate, messageCallback });
  if (!apiReportChanged || isUpdate) return !apiReportChanged;
  const [before, now] = [reportFolder, reportTempFolder].map((folder) => join(folder, `${name}.api.md`));
  return (
    existsSync(before) && normalize(readFileSync(before, 'utf8')) === normalize(readFileSync(now, 'utf8'))
  );
}

/** The compiler writes the members of a union in the order in which it met them, which differs from build to build. */
function normalize(report) {
  return report
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/[;,{}]+$/, '')
        .split(/\s*[|&]\s*/)
        .sort()
        .join(' | '),
    )
    .sort()
    .join('\n');
}

const changed = names.filter((name) => !isUnchanged(name));
if (isUpdate) console.log(`Reports written: ${changed.join(', ') || 'none has changed'}.`);
else if (changed.length > 0) {
  for (const name of changed) {
    const files = [join(reportFolder, `${name}.api.md`), join(reportTempFolder, `${name}.api.md`)];
    spawnSync('git', ['--no-pager', 'diff', '--no-index', ...files], { stdio: 'inherit' });
  }
  console.error(`The public types of ${changed.join(', ')} have changed.`);
  console.error(
    'If that is meant, run npm run api-report -- --update, and commit .ci/api-report with the change.',
  );
  process.exitCode = 1;
}
rmSync(reportTempFolder, { recursive: true });
