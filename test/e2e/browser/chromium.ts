import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Debian's Chromium, if it is installed. */
const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .map((directory) => join(directory, 'chromium'))
  .find((path) => existsSync(path));

export const isChromiumMissing = executablePath === undefined;

if (isChromiumMissing) {
  console.warn('The browser tests are skipped: no chromium on the PATH (Debian: apt-get install chromium).');
}

/** For a browser that sends no request of its own to the network. */
export const launchOptions = {
  ...(executablePath ? { executablePath } : {}),
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // A name that is no loopback host, so that its pages are no secure context.
    '--host-resolver-rules=MAP sandbox.test 127.0.0.1',
  ],
};

export function launchBrowser(): Promise<Browser> {
  return chromium.launch(launchOptions);
}

/** Opens a page, and collects the errors, refused scripts and dialogs of the browser. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, ...options });
  const page = await context.newPage();
  // The test's own limit ends what never comes.
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, problems };
}
