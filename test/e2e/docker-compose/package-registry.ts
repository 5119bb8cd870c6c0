import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startListening } from '../../helpers/start-listening.ts';
import { run } from './run.ts';

/** Starts a registry that has the package as if it were released. It sends npm to its usual registry for any other. */
export async function startPackageRegistry(folder: string): Promise<string> {
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]);
  const [file = ''] = globSync('*.tgz', { cwd: folder });
  const tarball = readFileSync(join(folder, file));
  const usual = (await run('npm', ['config', 'get', 'registry'])).trim();
  const server = createServer(({ url = '/' }, response) => {
    if (url === '/payment-collection-client') response.end(JSON.stringify(describe(tarball, address)));
    else if (url === '/released.tgz') response.end(tarball);
    else response.writeHead(302, { location: new URL(url, usual).href }).end();
  });
  const { port, stop } = await startListening(server);
  const address = `http://127.0.0.1:${port}`;
  onTestFinished(stop);
  return address;
}

function describe(tarball: Buffer, address: string): object {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `${address}/released.tgz`, integrity };
  return {
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  };
}
