import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isChromiumMissing, launchBrowser, openPage } from '../../../test/e2e/browser/chromium.ts';
import { findFaintTexts } from '../../../test/e2e/browser/faint-texts.ts';
import { KOFI, PASSWORD, startDesk } from './admin-desk-scene.ts';
import { listen } from './listen.ts';

const KEY = 'order-1041/1';

describe.skipIf(isChromiumMissing)('The admin desk in Chromium', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  async function open(url: string) {
    const opened = await openPage(browser);
    onTestFinished(() => opened.page.context().close());
    await opened.page.goto(url);
    return opened;
  }

  async function start() {
    const desk = await startDesk();
    const { page, problems } = await open(desk.url);
    await logIn(page);
    return { ...desk, page, problems };
  }

  it('logs in, opens the oldest key, and resolves it by its reference', async () => {
    const { journal, page, problems, findReference } = await start();
    await page.getByRole('heading', { name: 'Unresolved keys 3' }).waitFor();
    expect(await page.locator('td.key').allTextContents()).toEqual([KEY, 'order-1042/1', 'order-1043/1']);
    await page.getByRole('link', { name: KEY }).click();
    await page.getByText('Nobody has resolved this key').waitFor();

    const form = page.getByRole('form', { name: 'You found the charge' });
    await form.getByLabel('Reference').fill(findReference('ama@example.com'));
    await form.getByLabel('What you found').fill('By the amount and the phone <b>at 03:10</b>');
    await form.getByRole('button').click();

    await page.getByText('The key is resolved').waitFor();
    await page.getByText(/^paid at \d{4}-/).waitFor();
    await page.getByText('By the amount and the phone <b>at 03:10</b>').waitFor();
    expect(await form.isVisible()).toBe(false);
    expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [{ by: KOFI }] });
    await page.getByRole('link', { name: 'Unresolved keys' }).click();
    await page.getByRole('heading', { name: 'Unresolved keys 2' }).waitFor();
    expect(problems).toEqual([]);
  });

  it('resolves a key as not charged once its amount is typed', async () => {
    const { journal, page } = await start();
    await page.getByRole('link', { name: 'order-1042/1' }).click();
    const form = page.getByRole('form', { name: 'No charge exists' });
    await form.getByLabel('What you found').fill('Support: no such charge, ticket 4711');
    await form.getByLabel('Type the amount').fill('25.50');
    await form.getByRole('button').click();
    // The browser refuses the form without the tick.
    expect(await journal.read('order-1042/1')).toMatchObject({ state: 'unknown' });
    await form.getByLabel('has ended').check();
    await form.getByRole('button').click();
    await page.getByRole('alert').getByText('Type the amount of this key as it is shown: 120.00').waitFor();
    expect(await form.getByLabel('What you found').inputValue()).toContain('ticket 4711');

    await form.getByLabel('Type the amount').fill('120.00');
    await form.getByRole('button').click();
    await page.getByText('The key is resolved').waitFor();
    expect(await journal.read('order-1042/1')).toMatchObject({ state: 'not_charged' });
  });

  it('shows why a wrong reference is refused, and keeps what was typed', async () => {
    const { journal, page } = await start();
    await page.getByRole('link', { name: KEY }).click();
    const form = page.getByRole('form', { name: 'You found the charge' });
    await form.getByLabel('Reference').fill('TXN-WRONG"><script>alert(1)</script>');
    await form.getByLabel('What you found').fill('"><script>alert(2)</script>');
    await form.getByRole('button').click();
    await page.getByRole('alert').getByText('It begins with TXN-').waitFor();
    await form.getByLabel('Reference').fill('TXN-WRONG');
    await form.getByRole('button').click();
    await page.getByRole('alert').getByText('The service has no transaction').waitFor();
    expect(await form.getByLabel('What you found').inputValue()).toBe('"><script>alert(2)</script>');
    expect(await page.locator('script').count()).toBe(0);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  it.each(['127.0.0.1', 'localhost'])('refuses a form of another site on %s', async (host) => {
    const { url, journal, page } = await start();
    await page.getByRole('link', { name: KEY }).click();
    // The worst case: the other site knows the token.
    const token = await page.locator('input[name=token]').first().inputValue();
    const fields = {
      token,
      key: KEY,
      seen: '0',
      resolution: 'not_charged',
      amount: '25.50',
      ended: 'yes',
      reason: 'x',
    };
    const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
    const attacker = await listen((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(
        `<form method="post" action="${url}/admin/keys/entry">${inputs.join('')}<button>Win</button></form>`,
      );
    });
    onTestFinished(attacker.close);
    // On another port of 127.0.0.1 the browser sends the cookie: that is the same site.
    await page.goto(attacker.url.replace('127.0.0.1', host));
    const [request] = await Promise.all([
      page.waitForRequest(`${url}/admin/keys/entry`),
      page.getByRole('button').click(),
    ]);
    await page.getByText('This form was sent by another site. Nothing was changed.').waitFor();
    expect((await request.allHeaders()).cookie !== undefined).toBe(host === '127.0.0.1');
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  it('cannot be shown in a frame of another site', async () => {
    const { url, page } = await start();
    const attacker = await listen((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<iframe src="${url}/admin/keys"></iframe>`);
    });
    onTestFinished(attacker.close);
    await page.goto(attacker.url);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
  });

  const hostileKeys = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    `order-${'9'.repeat(249)}`,
    '../../../admin/logout?x=1#y&z=%00',
    'طلب-17 \u202eevil\u2066 ส่ง 🧾 e\u0301',
    "' -- <%= 7*7 %> {{7*7}}",
    ' ',
  ];

  it.each(hostileKeys)('lists, opens and resolves the key %j', async (key) => {
    const { journal, leaveUnresolved, findReference, url } = await startDesk();
    await leaveUnresolved(key);
    const { page, problems } = await open(url);
    await logIn(page);
    await page.locator('td.key a').last().click();
    await expect.poll(() => page.locator('h1').textContent()).toBe(key);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const form = page.getByRole('form', { name: 'You found the charge' });
    await form.getByLabel('Reference').fill(findReference('esi@example.com'));
    await form.getByLabel('What you found').fill('found');
    await form.getByRole('button').click();
    await page.getByText('The key is resolved').waitFor();
    expect(await journal.read(key)).toMatchObject({ state: 'completed' });
    expect(await page.locator('img, script').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 320],
  ] as const)('is readable and usable by touch, in %s at %i pixels', async (colorScheme, width) => {
    const { url, leaveUnresolved, journal } = await startDesk();
    await leaveUnresolved('9'.repeat(255), '70368744177664.00');
    await leaveUnresolved('with spaces '.repeat(20).trim());
    const reason = 'w'.repeat(1_000);
    await journal.resolve('order-1043/1', 'not_charged', { by: 'b'.repeat(200), reason });
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    await expectReadable(page, width);
    await logIn(page);
    await expectReadable(page, width);
    for (const key of [KEY, 'order-1043/1', '9'.repeat(255), 'none']) {
      await page.goto(`${url}/admin/keys/entry?key=${encodeURIComponent(key)}`);
      await expectReadable(page, width);
    }
  });
});

async function logIn(page: Page): Promise<void> {
  await page.getByLabel('Email').fill(KOFI);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Unresolved keys' }).waitFor();
}

async function expectReadable(page: Page, width: number): Promise<void> {
  await page.waitForLoadState('load');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  const cut = await page
    .locator('.card, td, dd, h1')
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map(String));
  expect(cut).toEqual([]);
  expect(await page.evaluate(findFaintTexts)).toEqual([]);
  const heights = await page
    .locator('button:visible')
    .evaluateAll((all) => all.map(({ clientHeight }) => clientHeight));
  for (const height of heights) expect(height).toBeGreaterThanOrEqual(40);
}

it('the demo starts with three unresolved keys, and ends when it is told to', async () => {
  const demo = spawn(process.execPath, [join(import.meta.dirname, '../admin-desk/demo.ts')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void demo.kill('SIGKILL'));
  const lines: string[] = [];
  for await (const line of createInterface({ input: demo.stdout })) if (lines.push(line) === 4) break;
  const [url = '', , password = ''] = lines.map((line) => line.split(/\s{2,}/)[1]);
  const form = new URLSearchParams({ email: KOFI, password });
  const headers = { origin: url };
  const login = await fetch(`${url}/admin/login`, {
    method: 'POST',
    body: form,
    headers,
    redirect: 'manual',
  });
  const cookie = login.headers.getSetCookie().join().split(';', 1).join();
  expect(await (await fetch(`${url}/admin/keys`, { headers: { cookie } })).text()).toContain(
    'class="count">3<',
  );
  const ended = once(demo, 'exit');
  demo.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});
