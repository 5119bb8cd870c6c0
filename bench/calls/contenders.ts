import http from 'node:http';
import { PaymentsClient } from '../../src/index.ts';
import { undiciTransport } from '../../src/node/index.ts';

/** One way to get the same JSON from the same address. */
export interface Contender {
  label: string;
  /** What a call does besides sending and parsing. */
  beside: string;
  /** Loads it and points it at the service; what it gives makes one call. */
  start(baseUrl: string): Promise<() => Promise<unknown>>;
}

const KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const REFERENCE = 'TXN-8f2c61d0';
const PATH = `/transactions/verify/${REFERENCE}`;
const headers = { authorization: `Bearer ${KEY}`, accept: 'application/json' };

export const contenders = {
  fetch: {
    label: 'fetch + json()',
    beside: 'nothing',
    start: async (baseUrl) => async () => (await fetch(`${baseUrl}${PATH}`, { headers })).json(),
  },
  timed: {
    label: 'fetch + json(), with a timeout',
    beside: 'timeout',
    start: async (baseUrl) => async () => {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), 30_000);
      const response = await fetch(`${baseUrl}${PATH}`, { headers, signal: controller.signal });
      const json = await response.json();
      clearTimeout(timer);
      return json;
    },
  },
  ours: {
    label: 'ours',
    beside: 'validation, body bound, timeout, retries, redaction',
    start: async (baseUrl) => {
      const payments = new PaymentsClient({ apiKey: KEY, baseUrl });
      return () => payments.verify(REFERENCE);
    },
  },
  oursWithoutKy: {
    label: 'ours, but for ky',
    beside: 'the same',
    start: async (baseUrl) => {
      // The option `fetch` is called as it is; the global one goes through ky.
      const payments = new PaymentsClient({ apiKey: KEY, baseUrl, fetch });
      return () => payments.verify(REFERENCE);
    },
  },
  oursNode: {
    label: 'ours, undiciTransport',
    beside: 'the same',
    start: async (baseUrl) => {
      const payments = new PaymentsClient({ apiKey: KEY, baseUrl, transport: undiciTransport() });
      return () => payments.verify(REFERENCE);
    },
  },
  undici: {
    label: 'undici request + json()',
    beside: 'nothing',
    start: async (baseUrl) => {
      const { Agent, request } = await import('undici');
      const dispatcher = new Agent();
      return async () => (await request(`${baseUrl}${PATH}`, { headers, dispatcher })).body.json();
    },
  },
  kyAlone: {
    label: 'ky alone, the same request, json()',
    beside: 'timeout of the headers',
    start: async (baseUrl) => {
      const { default: ky } = await import('ky');
      const http = ky.create({
        retry: 0,
        timeout: 30_000,
        throwHttpErrors: false,
        redirect: 'manual',
        cache: 'no-store',
      });
      const send = () =>
        http(`${baseUrl}${PATH}`, {
          headers: { ...headers, 'user-agent': 'bench', 'x-request-id': crypto.randomUUID() },
        });
      return () => send().json();
    },
  },
  ky: {
    label: 'ky, json()',
    beside: 'timeout, retries',
    start: async (baseUrl) => {
      const { default: ky } = await import('ky');
      return () => ky.get(`${baseUrl}${PATH}`, { headers }).json();
    },
  },
  stripe: {
    label: 'stripe',
    beside: 'timeout, retries, telemetry (on node:http)',
    start: async (baseUrl) => {
      const { default: Stripe } = await import('stripe');
      const { hostname, port } = new URL(baseUrl);
      const stripe = new Stripe(KEY, { protocol: 'http', host: hostname, port });
      return () => stripe.paymentIntents.retrieve(REFERENCE);
    },
  },
  openai: {
    label: 'openai',
    beside: 'timeout, retries',
    start: async (baseUrl) => {
      const { default: OpenAI } = await import('openai');
      const openai = new OpenAI({ apiKey: KEY, baseURL: baseUrl });
      return () => openai.models.retrieve(REFERENCE);
    },
  },
  axios: {
    label: 'axios',
    beside: 'no timeout (on node:http, keep-alive agent)',
    start: async (baseUrl) => {
      const { default: axios } = await import('axios');
      const client = axios.create({
        baseURL: baseUrl,
        headers,
        httpAgent: new http.Agent({ keepAlive: true }),
      });
      return async () => (await client.get(PATH)).data;
    },
  },
  got: {
    label: 'got',
    beside: 'retries, no timeout (on node:http, keep-alive agent)',
    start: async (baseUrl) => {
      const { default: got } = await import('got');
      const client = got.extend({ headers, agent: { http: new http.Agent({ keepAlive: true }) } });
      return () => client.get(`${baseUrl}${PATH}`).json();
    },
  },
  mollie: {
    label: '@mollie/api-client',
    beside: 'retries, no timeout; a connection for each call (on node-fetch)',
    start: async (baseUrl) => {
      // It makes an agent for https whatever its apiEndpoint is, and node-fetch refuses that one for http.
      const https = await import('node:https');
      Object.assign(https.default, { Agent: http.Agent });
      const { createMollieClient } = await import('@mollie/api-client');
      const mollie = createMollieClient({
        apiKey: 'test_4vK9qLm2Xw7RtZ4vK9qLm2Xw7RtZ44',
        apiEndpoint: baseUrl,
      });
      return () => mollie.payments.get('tr_8f2c61d0');
    },
  },
  square: {
    label: 'square',
    beside: 'timeout, retries, validation of a kind',
    start: async (baseUrl) => {
      const { SquareClient } = await import('square');
      const square = new SquareClient({ token: KEY, baseUrl });
      return () => square.payments.get({ paymentId: REFERENCE });
    },
  },
  paystack: {
    label: 'paystack-sdk',
    beside: 'nothing, no timeout (on fetch)',
    start: async (baseUrl) => {
      // Its address is fixed, but it asks the global fetch.
      const { fetch } = globalThis;
      const { origin } = new URL(baseUrl);
      globalThis.fetch = (input, init) =>
        fetch(String(input).replace('https://api.paystack.co', origin), init);
      const { default: Paystack } = await import('paystack-sdk');
      const paystack = new Paystack(KEY);
      return () => paystack.transaction.verify(REFERENCE);
    },
  },
} as const satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;

export const names = Object.keys(contenders).filter((name): name is Name => name in contenders);
