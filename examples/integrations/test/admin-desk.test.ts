import { type JournalStore, memoryJournal, memoryStore } from 'payment-collection-client/journal';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AMA, KOFI, Member, NOTE, PASSWORD, SECRET, startDesk } from './admin-desk-scene.ts';

const KEY = 'order-1041/1';
const notCharged = { resolution: 'not_charged', amount: '25.50', ended: 'yes' };

async function start(...given: Parameters<typeof startDesk>) {
  const desk = await startDesk(...given);
  const kofi = new Member(desk.url);
  await kofi.logIn(KOFI);
  return { ...desk, kofi };
}

describe('The admin desk', () => {
  it('records who is logged in, not who the form names', async () => {
    const { journal, kofi, findReference } = await start();
    const reference = findReference('ama@example.com');
    const response = await kofi.resolve(KEY, { resolution: 'charged', reference, by: AMA, person: AMA });
    expect(response.status).toBe(303);
    expect(await journal.read(KEY)).toMatchObject({
      state: 'completed',
      reference,
      resolutions: [{ by: KOFI, reason: 'found', resolution: { reference } }],
    });
  });

  it.each([
    ['not a reference', 'It begins with TXN-'],
    ['TXN-000000', 'The service has no transaction with this reference'],
  ])('refuses %j as a reference, and changes nothing', async (reference, text) => {
    const { journal, kofi } = await start();
    const response = await kofi.resolve(KEY, { resolution: 'charged', reference });
    expect(response.status).toBe(422);
    expect(await response.text()).toMatch(new RegExp(`role="alert">.*${text}.*Nothing was changed`));
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  it("refuses another key's reference, and links to that key", async () => {
    const { journal, kofi, findReference, leaveUnresolved } = await start();
    const reference = findReference('kojo@example.com');
    await kofi.resolve('order-1043/1', { resolution: 'charged', reference });
    await leaveUnresolved('order-17/1', '25.50');
    const response = await kofi.resolve('order-17/1', { resolution: 'charged', reference });
    expect(response.status).toBe(409);
    const text = await response.text();
    expect(text).toContain('one payment cannot pay for two orders');
    expect(text).toContain('href="/admin/keys/entry?key=order-1043%2F1"');
    expect(await journal.read('order-17/1')).toMatchObject({ state: 'unknown' });
  });

  it('refuses a charge of another amount, and names both', async () => {
    const { journal, kofi, findReference } = await start();
    const reference = findReference('yaw@example.com');
    const response = await kofi.resolve(KEY, { resolution: 'charged', reference });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain('is about GHS 80.00, and the key about GHS 25.50');
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  it.each([
    ['25.5', 'yes'],
    ['GHS 25.50', 'yes'],
    ['', 'yes'],
    ['25.50', ''],
  ])('refuses not charged with the amount %j and the tick %j', async (amount, ended) => {
    const { journal, kofi } = await start();
    const response = await kofi.resolve(KEY, { ...notCharged, amount, ended });
    expect(response.status).toBe(422);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  it('refuses a resolution without a reason', async () => {
    const { journal, kofi } = await start();
    expect((await kofi.resolve(KEY, { ...notCharged, reason: '  ' })).status).toBe(422);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  it.each([
    ['is down', { kind: 'status', status: 503 }, 'The service could not be asked'],
    ['breaks the connection', { kind: 'reset' }, 'The service could not be asked'],
    ['refuses the API key', { kind: 'status', status: 401 }, 'API key'],
  ] as const)('changes nothing if the service %s', async (_, fault, text) => {
    const { sandbox, journal, kofi, findReference } = await start();
    const reference = findReference('ama@example.com');
    sandbox.fault('verify', fault);
    const response = await kofi.resolve(KEY, { resolution: 'charged', reference });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain(text);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  it('changes nothing if the database is down', async () => {
    const store = memoryStore();
    let isDown = false;
    const write: JournalStore['write'] = (key, change) =>
      isDown ? Promise.reject(new Error('ECONNREFUSED 10.0.0.7')) : store.write(key, change);
    const { journal, kofi } = await start({ store: { ...store, write } });
    isDown = true;
    const response = await kofi.resolve(KEY, notCharged);
    expect(response.status).toBe(503);
    const text = await response.text();
    expect(text).toContain('database could not be reached');
    expect(text).not.toContain('10.0.0.7');
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  it('tells which other charge might own the transaction', async () => {
    const store = memoryStore();
    const { journal, kofi, findReference } = await start({ store });
    const found = await journal.read(KEY);
    if (!found) throw new Error('There is no such key.');
    const { service, operation, amount, currency } = found;
    const other = memoryJournal({ store, lease: 60_000 });
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 10_000);
    const claimed = await other.claim('order-98/1', {
      operation,
      service,
      amount,
      currency,
      fingerprint: 'x',
    });
    clock.mockRestore();
    if (claimed.state !== 'claimed') throw new Error('The key could not be claimed.');
    await other.renew(claimed.claim);
    const desk = await kofi.resolve(KEY, {
      resolution: 'charged',
      reference: findReference('ama@example.com'),
    });
    expect(desk.status).toBe(409);
    expect(await desk.text()).toContain('is being charged with the same amount');
  });

  it('tells the second of two persons who resolved the key', async () => {
    const { url, journal, kofi, findReference } = await start();
    const ama = new Member(url);
    await ama.logIn(AMA);
    const seenByKofi = await kofi.openEntry(KEY);
    await ama.resolve(KEY, { resolution: 'charged', reference: findReference('ama@example.com') });
    const late = await kofi.post('/admin/keys/entry', { ...seenByKofi, ...notCharged, reason: 'not found' });
    expect(late.status).toBe(409);
    expect(await late.text()).toContain(`Already resolved by ${AMA}`);
    expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [{ by: AMA }] });
  });

  it('lets one of two persons win who decide otherwise at once', async () => {
    const { url, journal, kofi, findReference } = await start();
    const ama = new Member(url);
    await ama.logIn(AMA);
    const reference = findReference('ama@example.com');
    const forms = [await kofi.openEntry(KEY), await ama.openEntry(KEY)] as const;
    const responses = await Promise.all([
      kofi.post('/admin/keys/entry', { ...forms[0], ...notCharged, reason: 'not found' }),
      ama.post('/admin/keys/entry', { ...forms[1], resolution: 'charged', reference, reason: 'found' }),
    ]);
    expect(responses.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect((await journal.read(KEY))?.resolutions).toHaveLength(1);
  });

  it('corrects a wrong resolution, and keeps both in the history', async () => {
    const { journal, kofi, findReference } = await start();
    await kofi.resolve(KEY, notCharged);
    const reference = findReference('ama@example.com');
    const response = await kofi.resolve(KEY, { resolution: 'charged', reference, reason: 'found it later' });
    expect(response.status).toBe(303);
    const page = await (await kofi.get(response.headers.get('location') ?? '')).text();
    expect(page).toContain('found it later');
    expect(page.indexOf('found it later')).toBeLessThan(page.indexOf('<b>not charged</b>'));
    expect((await journal.read(KEY))?.resolutions).toHaveLength(2);
  });

  it('asks for the checkout page of a payment that has one', async () => {
    const { sandbox, journal, payments, kofi } = await start();
    sandbox.fault('initialize', { kind: 'responseLost' });
    const input = { amount: '5.00', customer_email: 'esi@example.com' };
    await payments.initialize(input, { idempotencyKey: 'basket-7' }).catch(() => undefined);
    const { reference } = sandbox.transactions.find(({ amount }) => amount === '5.00') ?? { reference: '' };
    const found = { resolution: 'charged', reference };
    const refused = await kofi.resolve('basket-7', found);
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain('name="checkout_url"');
    const checkout_url = `${sandbox.url}/checkout/${reference}`;
    expect((await kofi.resolve('basket-7', { ...found, checkout_url })).status).toBe(303);
    expect(await journal.read('basket-7')).toMatchObject({ state: 'completed', reference });
  });

  it('offers no form for a charge that the service itself returned', async () => {
    const { kofi } = await start();
    const page = await (await kofi.get('/admin/keys/entry?key=order-1040%2F1')).text();
    expect(page).toContain('Nothing has to be resolved');
    expect(page).not.toContain('name="resolution"');
    const forged = { ...(await kofi.openEntry(KEY)), key: 'order-1040/1', ...notCharged, amount: '80.00' };
    const response = await kofi.post('/admin/keys/entry', { ...forged, reason: 'free it' });
    expect(response.status).toBe(409);
    expect(await response.text()).toContain('The service itself returned it');
  });

  it('refuses forms of other sites, and forms without a token', async () => {
    const { url, journal, kofi } = await start();
    const refused = [
      { origin: 'https://attacker.example' },
      { origin: 'null' },
      { origin: '' },
      { origin: url.replace('127.0.0.1', 'localhost') },
      { origin: `${url}0` },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of refused) {
      expect((await kofi.resolve(KEY, notCharged, headers)).status).toBe(403);
      expect((await kofi.post('/admin/login', { email: KOFI, password: PASSWORD }, headers)).status).toBe(
        403,
      );
    }
    for (const token of ['', 'x', 'undefined']) {
      expect((await kofi.resolve(KEY, { ...notCharged, token })).status).toBe(403);
    }
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
    expect((await kofi.resolve(KEY, notCharged, { 'sec-fetch-site': 'same-origin' })).status).toBe(303);
  });

  it('shows and changes nothing without a login', async () => {
    const { url, journal, kofi } = await start();
    const fields = { ...(await kofi.openEntry(KEY)), ...notCharged, reason: 'free it' };
    const stranger = new Member(url);
    for (const path of ['/admin/keys', `/admin/keys/entry?key=${encodeURIComponent(KEY)}`]) {
      const response = await stranger.get(path);
      expect(response.status).toBe(303);
      expect(response.headers.get('location')).toBe(`/admin/login?next=${encodeURIComponent(path)}`);
    }
    expect((await stranger.post('/admin/keys/entry', fields)).status).toBe(401);
    const forged = [
      kofi.cookie.replace(/\.[^.]*$/, '.forged'),
      kofi.cookie.replace('s%3A', ''),
      'admin_session=x',
    ];
    for (const cookie of forged) {
      expect((await stranger.post('/admin/keys/entry', fields, { cookie })).status).toBe(401);
    }
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  it('ends a session with the logout, and with the person leaving', async () => {
    const { url, staff, kofi } = await start();
    const { cookie } = kofi;
    await kofi.post('/admin/logout', {});
    const again = await fetch(`${url}/admin/keys`, { headers: { cookie }, redirect: 'manual' });
    expect(again.status).toBe(303);
    const ama = new Member(url);
    await ama.logIn(AMA);
    expect((await ama.get('/admin/keys')).status).toBe(200);
    staff.delete(AMA);
    expect((await ama.get('/admin/keys')).status).toBe(303);
  });

  it('refuses a wrong password and an unknown person alike', async () => {
    const { url } = await startDesk();
    for (const [email, password] of [
      [KOFI, 'wrong'],
      ['nobody@shop.example', PASSWORD],
      [KOFI, ''],
      ['', ''],
    ] as const) {
      const response = await new Member(url).logIn(email, password);
      expect(response.status).toBe(401);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(await response.text()).toContain('The email address or the password is wrong.');
    }
  });

  it('goes back to a page of the desk after the login, never elsewhere', async () => {
    const { url } = await startDesk();
    const log = async (next: string) => {
      const fields = { email: KOFI, password: PASSWORD, next };
      return (await new Member(url).post('/admin/login', fields)).headers.get('location');
    };
    const entry = '/admin/keys/entry?key=order-1041%2F1';
    expect(await log(entry)).toBe(entry);
    for (const next of [
      '',
      '//attacker.example',
      '/\\attacker.example',
      'https://attacker.example/admin/keys',
      '/admin/keys/../../x',
      '/admin/logout',
    ])
      expect(await log(next)).toBe('/admin/keys');
  });

  it('sets a signed cookie that no script and no other site can use', async () => {
    const { url } = await startDesk();
    const response = await new Member(url).logIn(KOFI);
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^admin_session=s%3A[\w-]{43}\.[\w%]+; /);
    for (const part of ['HttpOnly', 'SameSite=Lax', 'Path=/admin']) expect(cookie).toContain(part);
  });

  it('sends its cookie over https only, in production', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { url } = await startDesk();
    expect((await new Member(url).logIn(KOFI)).headers.getSetCookie().join()).toContain('; Secure');
  });

  it('permits no script, no frame and no cache', async () => {
    const { kofi } = await start();
    for (const path of [
      '/admin/login',
      '/admin/keys',
      '/admin/keys/entry?key=order-1041%2F1',
      '/admin/keys/entry?key=x',
    ]) {
      const response = await kofi.get(path);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/script-src|unsafe/);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await response.text()).not.toMatch(/<script|\son\w+=|style="/);
    }
  });

  it('shows no key, password, cookie or secret on any page', async () => {
    const { sandbox, kofi } = await start();
    const hidden = [
      sandbox.liveKey,
      sandbox.testKey,
      SECRET,
      PASSWORD,
      kofi.cookie.split('=').join().slice(-20),
    ];
    const refusal = await kofi.resolve(KEY, { resolution: 'charged', reference: 'TXN-000000' });
    const pages = [await refusal.text()];
    for (const path of ['/admin/keys', '/admin/keys/entry?key=order-1041%2F1'])
      pages.push(await (await kofi.get(path)).text());
    for (const page of pages) for (const secret of hidden) expect(page).not.toContain(secret);
  });

  it('finds an entry by its reference', async () => {
    const { kofi, findReference } = await start();
    const response = await kofi.get(`/admin/keys/entry?key=${findReference('yaw@example.com')}`);
    expect(await response.text()).toContain('order-1040/1');
    expect((await kofi.get('/admin/keys/entry?key=TXN-none')).status).toBe(404);
  });

  it('shows a key whose process died, and lets it be resolved', async () => {
    const store = memoryStore();
    const { journal, kofi } = await start({ store });
    const intent = await journal.read(KEY);
    if (!intent) throw new Error('There is no such key.');
    const { service, operation, currency } = intent;
    // The process dies between the claim and the result.
    await memoryJournal({ store, lease: 100 }).claim('order-99/1', {
      operation,
      service,
      currency,
      fingerprint: 'x',
      amount: '9.00',
      requestId: 'id-99',
    });
    expect(await (await kofi.get('/admin/keys/entry?key=order-99%2F1')).text()).toContain(
      'A process is charging now',
    );
    await new Promise((done) => setTimeout(done, 150));
    const page = await (await kofi.get('/admin/keys/entry?key=order-99%2F1')).text();
    expect(page).toContain('The process ended, or was frozen');
    expect(page).toContain('id-99');
    expect((await kofi.resolve('order-99/1', { ...notCharged, amount: '9.00' })).status).toBe(303);
  });

  it('never says that all is resolved if the journal cannot be read', async () => {
    const store = memoryStore();
    let isDown = false;
    const failing: JournalStore = {
      ...store,
      read: (key) => (isDown ? Promise.reject(new Error('database is down')) : store.read(key)),
      list: (query) =>
        isDown || !store.list ? Promise.reject(new Error('database is down')) : store.list(query),
    };
    const { kofi } = await start({ store: failing });
    isDown = true;
    const list = await (await kofi.get('/admin/keys')).text();
    expect(list).toContain('Not all keys can be shown');
    expect(list).not.toContain('Every key is resolved');
    const entry = await kofi.get('/admin/keys/entry?key=order-1041%2F1');
    expect(entry.status).toBe(503);
    expect(await entry.text()).not.toContain('database is down');
  });

  it('shows no details of an error that nobody expected', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue();
    const { journal, kofi } = await start();
    vi.spyOn(journal, 'read').mockRejectedValue(new TypeError('secret detail'));
    const response = await kofi.get('/admin/keys/entry?key=order-1041%2F1');
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('detail');
    expect(log).toHaveBeenCalledOnce();
  });

  it('says that all is resolved once it is', async () => {
    const { journal, kofi } = await start();
    for (const key of [KEY, 'order-1042/1', 'order-1043/1']) await journal.resolve(key, 'not_charged', NOTE);
    expect(await (await kofi.get('/admin/keys')).text()).toContain('Every key is resolved');
  });

  it('pages a long list, oldest first', async () => {
    const { kofi, leaveUnresolved } = await start();
    for (let count = 1; count <= 42; count++) await leaveUnresolved(`order-${count}/1`);
    const read = async (page: number, pattern: RegExp) => {
      const text = await (await kofi.get(`/admin/keys?page=${page}`)).text();
      return [...text.matchAll(pattern)].map(([, found]) => found);
    };
    const keysOn = (page: number) => read(page, /<bdi>([^<]+)<\/bdi>/g);
    const linksOn = (page: number) => read(page, /href="\/admin\/keys\?page=(\d+)"/g);
    expect(await keysOn(1)).toEqual([KEY, 'order-1042/1', 'order-1043/1', ...range(1, 17)]);
    expect(await keysOn(2)).toEqual(range(18, 37));
    expect(await keysOn(3)).toEqual(range(38, 42));
    expect(await keysOn(4)).toEqual([]);
    expect(await keysOn(-1)).toEqual(await keysOn(1));
    expect([await linksOn(1), await linksOn(2), await linksOn(3)]).toEqual([['2'], ['1', '3'], ['2']]);
  });
});

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `order-${from + index}/1`);
