import { describe, expect, test } from 'vitest';
import type { ChargeMobileMoneyInput, PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { expectNoSecrets, type Secrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';

const ODD_KEY = 'live/"4vK9+qLm=2Xw&7RtZ<\\p>\'Qs8~Hn#3c%Vb.5Jd';

/** Keys, phone numbers and emails of several forms. */
const people: (Secrets & { phone: string; email: string })[] = [
  { key: API_KEY, phone: '024 412 3456', email: 'ama.serwaa@example.com' },
  { key: 'sk_live_4vK9qLm2Xw7RtZ', phone: '+233-24-412-3456', email: 'ama+momo@example.co.uk' },
  { key: ODD_KEY, phone: '024/412/3456', email: "o'brien'@example.com" },
  { key: '4vK9qLm2Xw7RtZ0pQs8Hn3c', phone: '(024) 412.3456', email: 'ama@münchen.de' },
];

const fewStatuses = [200, 302, 400, 500];
interface Reported {
  failure: unknown;
  reported: unknown[];
}

/** Makes a call that fails. Returns everything that it reports. */
async function failing(
  call: (client: PaymentsClient) => Promise<unknown>,
  client: (options: object) => PaymentsClient,
  apiKey: string,
): Promise<Reported> {
  const reported: unknown[] = [];
  const report = (...what: unknown[]) => void reported.push(...what);
  const logger = { debug: report, info: report, warn: report, error: report };
  const failure = await catchError(call(client({ apiKey, onEvent: report, logger })));
  expect(reported.length).toBeGreaterThan(2);
  return { failure, reported };
}

/** In the short form the ordinary person and the odd one, and each fifth character. */
const EACH = chooseSize(5, 1);
const samples = chooseSize([0, 2], [0, 1, 2, 3]).flatMap((index) => people[index] ?? []);

describe.each(samples)('redacts $key, $phone, $email', (person) => {
  const { key, phone, email } = person;
  const digits = phone.replace(/\D/g, '');
  const input: ChargeMobileMoneyInput = { ...charge, phone, customer_email: email };

  test('in fields with a personal name, also on a read', async () => {
    const number = Number(digits);
    const data = {
      phone,
      customer: { phone_number: digits, mobile: { msisdn: [number] } },
      phones: [{ value: digits, other: [number] }],
      customer_email: email,
    };
    const service = await startService(404, { message: 'No.', data });
    const { failure } = await failing((client) => client.verify(REFERENCE), service.client, key);
    expectNoSecrets(failure, { ...person, phone: digits });
    expect(failure).toMatchObject({ serviceMessage: 'No.' });
  });

  test('as the name of a field', async () => {
    const names = Object.fromEntries([key, phone, email].map((name) => [name, 'is not valid']));
    const service = await startService(422, { message: 'No.', errors: names, ...names });
    const { failure } = await failing((client) => client.chargeMobileMoney(input), service.client, key);
    expectNoSecrets(failure, person);
  });

  test('as a number', async () => {
    const body = { phone: Number(digits), sent: [Number(`233${digits.slice(-9)}`)] };
    const service = await startService(400, body);
    const { failure } = await failing((client) => client.chargeMobileMoney(input), service.client, key);
    expectNoSecrets(failure, person);
  });

  test.each([0, 150, 185, 190, 195])('in headers, from character %i on', async (at) => {
    const secret = [key, digits, encodeURI(email)].join(' ');
    const header = 'x'.repeat(at) + secret;
    const names = ['x-request-id', 'x-correlation-id', 'retry-after', 'location', 'www-authenticate'];
    let status = 0;
    const service = await startService((response) => {
      response.writeHead(status, Object.fromEntries(names.map((name) => [name, header]))).end('{}');
    });
    for (status of fewStatuses) {
      const { failure, reported } = await failing(
        (client) => client.chargeMobileMoney(input),
        service.client,
        key,
      );
      expectNoSecrets([failure, reported], person);
    }
  });

  test('in a body cut off inside the key, at each character', async () => {
    for (let length = 1; length <= key.length; length += EACH) {
      const part = `{"message":"Not valid: ${key.slice(0, length)}`;
      const service = await startRawService((socket) => {
        socket.end(`HTTP/1.1 401 Unauthorized\r\ncontent-length: 999\r\n\r\n${part}`);
      });
      const { failure } = await failing((client) => client.chargeMobileMoney(input), service.client, key);
      expectNoSecrets(failure, person);
    }
  });

  test('in a response that is not HTTP', async () => {
    const service = await startRawService((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\n${key}\r\n${phone} ${email}\r\n\r\n`),
    );
    const { failure, reported } = await failing(
      (client) => client.chargeMobileMoney(input),
      service.client,
      key,
    );
    expectNoSecrets([failure, reported], person);
  });

  test('in a mismatched transaction, which the error does not print', async () => {
    const data = { amount: '99.00', customer_email: email, phone, echo: key };
    const service = await startService((response, { method }) =>
      sendJson(
        response,
        200,
        method === 'GET' ? successBodies.verify(data) : successBodies.chargeMobileMoney(data),
      ),
    );
    const expected = { amount: '25.50' };
    for (const call of [
      (client: PaymentsClient) => client.chargeMobileMoney(input),
      (client: PaymentsClient) => client.verify(REFERENCE, { expect: expected }),
    ]) {
      const { failure, reported } = await failing(call, service.client, key);
      expect(failure).toMatchObject({ name: 'TransactionMismatchError', transaction: data });
      expectNoSecrets([failure, reported], person, { getters: false });
    }
  });
});
