// A merchant's program that is bundled and minified. The lines that import or require its names are put before it.

const [baseUrl, apiKey] = process.argv.slice(2);
const customer_email = 'ama@example.com';
const input = { amount: '25.50', currency: 'GHS', customer_email, phone: '0241234567', network: 'mtn' };

class TillError extends ConnectionError {}

class StockError extends APIError {
  constructor(message, facts) {
    super(message, facts);
    this.name = 'StockError';
  }
}

const classes = {
  PaymentsError,
  APIError,
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  IdempotencyConflictError,
  InvalidInputError,
  InvalidRequestError,
  JournalError,
  NotFoundError,
  OutcomeUnknownError,
  PermissionError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  TransactionMismatchError,
  UnexpectedResponseError,
  WaitTimeoutError,
  TillError,
  StockError,
};

function makeErrors() {
  const read = { operation: 'verify', outcome: null, retryable: false, requestId: 'req-1' };
  const create = { operation: 'chargeMobileMoney', idempotencyKey: 'order-1' };
  const response = { ...read, status: 418, body: { message: 'no' }, serviceMessage: 'no', fieldErrors: [] };
  const wait = { reference: 'TXN-1', lastTransaction: undefined, attempts: 1, elapsed: 5, startedAt: 0 };
  const transaction = { reference: 'TXN-1', status: 'success', amount: '1.00', currency: 'GHS' };
  const mismatches = [{ field: 'amount', expected: '2.00', actual: '1.00' }];
  return [
    new APIError('api', response),
    new AuthenticationError('key', response),
    new ClosedError('verify'),
    new ConfigurationError('option'),
    new ConflictError('conflict', response),
    new ConnectionError('offline', { operation: 'chargeMobileMoney', outcome: 'not_sent', retryable: true }),
    new IdempotencyConflictError('other input', create),
    new InvalidInputError([{ path: 'amount', message: 'is missing', code: 'invalid_type' }]),
    new InvalidRequestError('refused', response),
    new JournalError('locked', { cause: new Error('SQLITE_BUSY') }),
    new NotFoundError('missing', response),
    new OutcomeUnknownError('lost', { ...create, cause: new RequestTimeoutError('late', read) }),
    new PermissionError('denied', response),
    new RateLimitError('slow', { ...response, retryAfter: 1_000 }),
    new RequestTimeoutError('late', read),
    new ServerError('down', response),
    new TransactionMismatchError(transaction, mismatches, read),
    new UnexpectedResponseError('odd', { ...read, status: 200, body: 'page' }),
    new WaitTimeoutError({ ...wait, lastError: new ServerError('down', response) }),
    new TillError('unplugged'),
    new StockError('sold out', response),
  ];
}

function describe(error) {
  const { name, code, outcome, nextStep, message, stack } = error;
  const kinds = Object.keys(classes).filter((kind) => error instanceof classes[kind]);
  const [title] = stack.split('\n');
  // The id of a request is random.
  const json = JSON.stringify(error).replaceAll(/[\da-f-]{36}/g, 'ID');
  return { name, code, outcome, nextStep, message, kinds, title, json, isOurs: isPaymentsError(error) };
}

const settle = (promise) => promise.then((value) => ({ value }), describe);

async function visit() {
  const journal = memoryJournal();
  const polling = { initialDelay: 0, minDelay: 1, maxDelay: 1 };
  const payments = new PaymentsClient({ apiKey, baseUrl, journal, polling, maxRetries: 1 });
  const delivered = [];
  const orderPayments = createOrderPayments({
    payments,
    journal,
    onPaid: ({ order }) => delivered.push(order),
    onAttention: ({ order, reason }) => delivered.push(`${order}: ${reason}`),
  });
  const lost = { ...input, customer_email: 'lost@example.com' };
  const refused = { ...input, customer_email: 'refused@example.com' };
  const seen = {
    errors: makeErrors().map(describe),
    misspelt: await settle((async () => new PaymentsClient({ apikey: apiKey }))()),
    lost: await settle(payments.chargeMobileMoney(lost, { idempotencyKey: 'lost-1' })),
    again: await settle(payments.chargeMobileMoney(lost, { idempotencyKey: 'lost-1' })),
    refused: await orderPayments.charge('17', refused).then(describeOrder),
    pressed: await orderPayments.charge('18', input).then(describeOrder),
    waited: await orderPayments.wait('18').then(describeOrder),
    swept: Object.keys(await orderPayments.sweep()),
    delivered,
  };
  const open = new Promise((resolve) => {
    seen.closedWait = settle(
      payments.waitForFinalStatus('TXN-open', { minDelay: 60_000, maxDelay: 60_000, onPoll: resolve }),
    );
  });
  await open;
  await payments.close();
  await payments.close();
  return {
    ...seen,
    closedWait: await seen.closedWait,
    closedCall: await settle(payments.verify('TXN-18')),
    closedCharge: await settle(payments.chargeMobileMoney(input, { idempotencyKey: 'closed-1' })),
  };
}

function describeOrder({ state, canPay, error, payment }) {
  return { state, canPay, reference: payment?.reference, error: error && describe(error) };
}

visit().then((seen) => console.log(JSON.stringify(seen)));
