import { chromium } from 'playwright-core';
import { startSandbox } from 'payment-collection-client/sandbox';
import { PaymentsClient } from 'payment-collection-client';
import http from 'node:http';
const only = process.argv[2] ?? '';
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const receiver = http.createServer((q, s) => { s.statusCode = q.headers['x-fail'] ? 500 : 200; s.end('{"received":true}'); }).listen(0, '127.0.0.1');
for (const count of (process.argv[3] ?? "0,5,5000").split(",").map(Number)) {
  await using sandbox = await startSandbox();
  const c = (apiKey) => new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey, maxRetries: 0, polling: { initialDelay: 20, minDelay: 20, maxDelay: 30 } });
  const live = c(sandbox.liveKey), test = c(sandbox.testKey);
  const nets = ['mtn', 'telecel', 'airteltigo'];
  if (count) {
    sandbox.webhooks.deliverTo(`http://127.0.0.1:${receiver.address().port}/webhooks`);
    for (let i = 0; i < count - 5; i++) {
      const email = `customer.${i}@example.com`;
      const { reference } = i % 3 ? await live.chargeMobileMoney({ amount: `${(i * 7) % 900 + 1}.50`, customer_email: email, phone: `024${String(1000000 + i)}`, network: nets[i % 3] }) : await test.initialize({ amount: '12.00', customer_email: email });
      if (i % 4 === 0) sandbox.approve(reference); else if (i % 4 === 1) sandbox.decline(reference); else if (i % 4 === 2) sandbox.abandon(reference);
    }
    const a = await test.initialize({ amount: '25.50', customer_email: 'ama.serwaa@example.com' });
    sandbox.approve(a.reference);
    const b = await live.initialize({ amount: '1280.00', currency: 'USD', customer_email: 'a.very.long.name.of.a.customer.with.a.long.domain@subsidiary.of.a.large.company.example.com' });
    sandbox.abandon(b.reference);
    const x = await live.chargeMobileMoney({ amount: '60.00', customer_email: 'kofi.mensah@example.com', phone: '020 555 0199', network: 'telecel' });
    sandbox.advance(300_000);
    sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    await live.chargeMobileMoney({ amount: '70368744177664.00', customer_email: 'yaw.boateng@example.com', phone: '+233 24 412 3456', network: 'mtn' }).catch(() => {});
    const d = await live.chargeMobileMoney({ amount: '40.00', customer_email: 'esi.owusu@example.com', phone: '024 412 3456', network: 'mtn' });
    for (let i = 0; i < 13; i++) await live.verify(d.reference);
    sandbox.fault('verify', { kind: 'status', status: 502, body: 'html' });
    await live.verify(d.reference).catch(() => {});
    await test.verify(d.reference).catch(() => {});
    sandbox.decline(d.reference);
    await live.verify(d.reference);
    await test.chargeMobileMoney({ amount: '1.00', customer_email: 'esi.owusu@example.com', phone: '024 412 3456', network: 'mtn' }).catch(() => {});
    await fetch(`${sandbox.baseUrl}/transactions/initialize`, { method: 'POST', headers: { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' }, body: '{"amount":"1","customer_email":"nobody","phone":"0244123456"}' });
    await c('sk_live_other').verify('TXN-1').catch(() => {});
    sandbox.fault('verify', { kind: 'responseLost' }, { times: 3 });
    sandbox.webhooks.fault({ kind: 'late' });
  }
  for (const width of [1280, 390]) for (const scheme of ['light', 'dark']) for (const path of ['', 'webhooks']) {
    const name = `${path || 'dashboard'}-${count}-${width}-${scheme}`;
    if (only && !name.match(only)) continue;
    const context = await browser.newContext({ viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme: scheme });
    const page = await context.newPage();
    page.on('pageerror', (e) => console.log(name, e.message));
    page.on('console', (m) => m.type() === 'error' && console.log(name, m.text()));
    const t = performance.now();
    await page.goto(`${sandbox.url}/${path}`);
    await page.locator('#connection[data-state=on]').waitFor();
    console.log(name, Math.round(performance.now() - t), 'ms', (await (await fetch(`${sandbox.url}/${path}`)).text()).length);
    if (count) {
      await page.locator('.rows > li > details > summary').first().click();
      if (!path) await page.locator('.requests summary').nth(1).click().catch(() => {});
    }
    await page.waitForTimeout(300);
    await page.mouse.move(0, 0);
    await page.screenshot({ path: `/tmp/dashboard-${name}.png` });
    const over = await page.evaluate(() => document.documentElement.scrollWidth);
    if (over > width) console.log(name, 'OVERFLOW', over);
    if (width === 390 && count === 5 && scheme === 'light') for (const tab of path ? ['receiver', 'faults', 'forge', 'time'] : ['faults', 'time', 'access']) {
      await page.click(`.tabs a[href="#${tab}"]`);
      await page.screenshot({ path: `/tmp/dashboard-${path || 'dashboard'}-tab-${tab}.png` });
    }
    await context.close();
  }
}
await browser.close(); receiver.close();
