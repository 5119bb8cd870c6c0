import type { OperationName } from '../../../../src/api/operations.ts';
import type { PaymentsClient } from '../../../../src/index.ts';
import { charge, payment, successBodies } from '../../../helpers/service.ts';
import { chooseSize } from '../../../helpers/sized.ts';
import {
  type Cut,
  closeKinds,
  createRawResponse,
  type Framing,
  type RawResponse,
} from '../../../helpers/tcp-service.ts';

/** One of the three operations, as the sweep calls and judges it. */
export interface Subject {
  name: OperationName;
  creates: boolean;
  call(client: PaymentsClient): Promise<unknown>;
  /** The whole result of a call that resolves. */
  result: unknown;
  /** What the service can respond with; `200` is the response without a fault. */
  responses: Record<'200', RawResponse> & Record<string, RawResponse>;
}

/** One call, and the byte at which the connection is cut. */
export interface Point {
  cut: Cut;
  connection: 'fresh' | 'reused';
  kind: string;
  response: RawResponse;
}

/** A prime, so that repeated parts of a request or response are cut at different places. */
const STEP = chooseSize(37, 1);

export const REFERENCE = successBodies.verify().data.reference;

const error = (status: number, framing: Framing) =>
  createRawResponse(status, { message: 'no', errors: { customer_email: ['is refused'] } }, framing, false);

/** A 503 does not show what the service did before it. Here it comes after the charge was made. */
const failure = (framing: Framing, creates: boolean) =>
  createRawResponse(503, { message: 'the processor is down' }, framing, creates);

function createCommonResponses(body: unknown, creates: boolean) {
  return {
    '200': createRawResponse(200, body, 'content-length', creates),
    '200 chunked': createRawResponse(200, body, 'chunked', creates),
    '422 chunked': error(422, 'chunked'),
    '429': error(429, 'content-length'),
    '503': failure('content-length', creates),
  };
}

export const initialize: Subject = {
  name: 'initialize',
  creates: true,
  call: (client) => client.initialize(payment),
  result: { ...successBodies.initialize().data, replayed: false },
  responses: createCommonResponses(successBodies.initialize(), true),
};

const charged = successBodies.chargeMobileMoney();

export const chargeMobileMoney: Subject = {
  name: 'chargeMobileMoney',
  creates: true,
  call: (client) => client.chargeMobileMoney(charge),
  result: { ...charged.data, message: charged.message, replayed: false },
  responses: {
    ...createCommonResponses(charged, true),
    '200 until close': createRawResponse(200, charged, 'until-close', true),
    '200 gzip': createRawResponse(200, charged, 'gzip', true),
    '200 status: false': createRawResponse(200, { status: false, message: 'no' }, 'content-length', false),
    '404': error(404, 'content-length'),
    '503 chunked': failure('chunked', true),
  },
};

export const verify: Subject = {
  name: 'verify',
  creates: false,
  call: (client) => client.verify(REFERENCE),
  result: successBodies.verify().data,
  responses: createCommonResponses(successBodies.verify(), false),
};

/** Every byte of a request of that length, from none read to all read. */
export function requestPoints({ responses }: Subject, length: number): Point[] {
  return everyCut('request', 0, length).flatMap((cut) =>
    onEach({ cut, kind: 'request', response: responses['200'] }),
  );
}

/** Every byte of a response, from the first written to all written. */
export function responsePoints(kind: string, response: RawResponse): Point[] {
  return everyCut('response', 1, response.bytes.length).flatMap((cut) => onEach({ cut, kind, response }));
}

function everyCut(side: Cut['side'], from: number, to: number): Cut[] {
  const all = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const bytes = all.filter((byte) => byte === from || byte === to || byte % STEP === 0);
  return bytes.flatMap((bytes) => closeKinds.map((manner) => ({ manner, side, bytes })));
}

const onEach = (point: Omit<Point, 'connection'>): Point[] => [
  { ...point, connection: 'fresh' },
  { ...point, connection: 'reused' },
];
