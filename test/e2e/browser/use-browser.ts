import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { launchBrowser, openPage } from './chromium.ts';

type OpenPage = (address: string, options?: BrowserContextOptions) => ReturnType<typeof openPage>;

/**
 * Launches a browser for the tests of a suite. Returns what opens a page in it, until the test ends.
 */
export function useBrowser(): OpenPage {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());
  return async (address, options) => {
    const opened = await openPage(browser, options);
    onTestFinished(() => opened.page.context().close());
    await opened.page.goto(address);
    return opened;
  };
}
