/** What the package assumes about the service and cannot know. */
export interface Assumption {
  /** As docs/reference/service.md marks it, after "Assumption:". What follows there explains it. */
  readonly sentence: string;
  /** What in the package leans on it. */
  readonly leans: string;
  /** What to do if it does not hold, beside asking. */
  readonly todo?: string;
  /** Asks the provider. docs/guides/going-live.md, "Ask the provider of the service", lists it. */
  readonly ask?: string;
  /** Why test mode cannot show whether it holds. */
  readonly unshown?: string;
}

/** Each assumption once, below its heading in docs/reference/service.md. A test holds that page and the questions to it. */
export const assumptionsBySection: Readonly<Record<string, Readonly<Record<string, Assumption>>>> = {
  'Base URL': {
    prefix: {
      sentence:
        'under one prefix, the documented fields keep their meaning, and new fields can appear at any time.',
      leans: 'every version of the package',
      ask: 'How do you announce changes of the interface and of the base URL?',
      unshown: 'only time shows it: run the probe each week with --compare',
    },
    address: {
      sentence: 'the base URL responds by itself, without a redirect.',
      leans: 'the outcome of a POST, which is unknown after a redirect',
      todo: 'Set PAYMENTS_BASE_URL to the address that the redirect names.',
    },
    'idle-connections': {
      sentence:
        'the service keeps an idle connection for 4 s or longer, or announces a shorter time in `Keep-Alive: timeout=…`.',
      leans: 'the outcome of a charge over a connection that was idle',
      todo: 'Close idle connections earlier, by fetch with an Agent of undici: docs/reference/runtimes.md.',
      ask: 'How long do you keep an idle connection, and do you send Keep-Alive: timeout=…?',
    },
    clock: {
      sentence: 'the clocks of the service and of your machine differ by less than a minute.',
      leans: 'the pause after a Retry-After that is a date, and comparisons of paid_at with your own times',
      todo: 'Synchronise the clock of your machine (NTP).',
      ask: 'Do your servers synchronise their clocks?',
    },
  },
  Authentication: {
    'key-mode': {
      sentence: 'the API key alone chooses the mode, and is printable ASCII text.',
      leans: 'the option mode, and the journal, which keeps the modes apart',
      ask: 'What does a live key look like, and what chooses the mode? Can two keys be valid at once?',
      unshown: 'a test key shows one mode alone',
    },
    'wrong-key': {
      sentence: 'a request with a wrong API key, or without one, is refused with 401 or 403.',
      leans: 'AuthenticationError, and that a charge with a wrong key moves nothing',
      todo: 'Look for a proxy on the way that adds or drops the header Authorization.',
      ask: 'How do you respond to a request with a wrong API key, and to one without an API key?',
    },
    'unknown-headers': {
      sentence: 'the service ignores headers that it does not know.',
      leans: 'every request, and the search for a charge by its request id',
      ask: 'Do you accept the headers X-Request-Id and Accept-Encoding: identity, and do you log the first?',
    },
  },
  'Response envelope': {
    'status-false': {
      sentence:
        '`status: false` means that the service refused the request, as a status code of [Errors](#errors) does.',
      leans: 'outcome: rejected, after which a shop can charge again',
      todo: 'Do not go live: a payment that exists would count as refused.',
      ask: 'Does status: false in a response always mean that no transaction was made?',
    },
    'success-2xx': {
      sentence: 'a successful response has a 2xx status.',
      leans: 'every result',
      todo: 'Do not go live: every payment would end as unknown. Look at the address, and open an issue.',
      ask: 'Is the body of a successful response as you document it, with status true and data?',
    },
  },
  'Start a checkout payment': {
    'return-proves-nothing': {
      sentence: 'nothing in the redirect back to the shop proves a payment, so call `verify` with `expect`.',
      leans: 'the route to which the customer comes back',
      ask: 'How does the customer come back to the shop, and with which parameters?',
      unshown: 'the package trusts no redirect',
    },
    'page-needed': {
      sentence: 'a payment cannot be paid without its checkout URL.',
      leans: 'a press of "Pay" after a page was lost, which starts another payment',
      ask: 'When does an unpaid checkout page expire, and can a payment be paid without its page?',
      unshown: 'it is about pages that nobody has',
    },
    'page-form': {
      sentence: 'the path of a checkout URL ends in the reference.',
      leans: 'TransactionMismatchError, which refuses the page of another payment',
      todo: 'Use chargeMobileMoney alone, and open an issue.',
      ask: 'Does the path of each checkout_url end in the reference of its transaction?',
    },
    'reference-form': {
      sentence:
        'a reference is `TXN-` and a suffix of 1 to 251 printable ASCII characters, without any of `/ \\ % ? #`.',
      leans: 'every path of a check, and the records of the journal',
      todo: 'Do not go live: the package refuses such a reference. Open an issue.',
      ask: 'Which characters can a reference have, and how long can it be?',
    },
    'email-form': {
      sentence:
        'an email address has one `@`, 1 to 64 characters before it and 1 to 255 after it, without white space.',
      leans: 'InvalidInputError before anything is sent',
      unshown: 'the package sends no other address',
    },
    'unknown-fields': {
      sentence: 'the service ignores a field of a request that it does not know.',
      leans: 'extraBody',
      todo: 'Send no extraBody but what the service documents.',
      ask: 'Do you refuse a request with a field that you do not know?',
    },
  },
  'Charge a Mobile Money number': {
    'test-charge': {
      sentence: 'the service refuses a charge with a test key, and no phone rings.',
      leans: 'tests against the service in test mode',
      todo: 'Charge in test mode only a number of your own.',
      ask: 'What does a charge with a test key do? Does it reach a phone?',
    },
    'phone-form': {
      sentence:
        'a phone number is any text with a digit and without control characters, which the package sends unchanged.',
      leans: 'InvalidInputError, and parseGhanaPhone for what it returns',
      ask: 'In which form do you accept a phone number: 0244123456, 233244123456 or +233244123456?',
      unshown: 'the probe charges no phone',
    },
    'late-approval': {
      sentence:
        'a customer can still approve after a wait has ended (10 minutes by default), so check again later.',
      leans: 'follow-ups, and the deadline of a wait (polling.timeout)',
      ask: 'How late can a prompt be approved?',
      unshown: 'test mode has no prompts',
    },
  },
  'Read the status': {
    'read-only': {
      sentence: 'reading changes nothing, so the package retries a failed read.',
      leans: 'polls, retries and follow-ups',
      todo: 'Set maxRetries: 0, and open an issue.',
      ask: 'Does a read of the status change anything?',
    },
    'none-is-null': {
      sentence:
        'an absent, `null` or empty `paid_at` or `customer_email` means "none", and is returned as `null`.',
      leans: 'paid_at of an unpaid transaction, which is null',
      todo: 'Read paid_at only if status is success.',
      ask: 'What is paid_at of a transaction that is not paid?',
    },
    'unknown-reference': {
      sentence: 'the service responds with 404 to a reference that it does not have, and with nothing else.',
      leans: 'NotFoundError, and payments.resolve, which asks whether a charge exists',
      todo: 'Look each reference up in the provider’s dashboard before you resolve an idempotency key with it.',
      ask: 'How do you respond to a read of a reference that does not exist?',
    },
    'replica-lag': {
      sentence: 'a 404 can come from a replica that lags, so a wait fails only after 10 s of them.',
      leans: 'waits, and verify right after a charge',
      todo: 'Check again later after a NotFoundError, and never charge again because of one.',
      ask: 'How soon after it was made can every transaction be read?',
    },
  },
  Statuses: {
    'success-stays': {
      sentence: '`success` never changes again.',
      leans: 'delivery: an order that is paid stays paid',
      todo: 'Deliver only after a person has looked, or wait before you deliver.',
      ask: 'Can a transaction with the status success change again, such as by a reversal?',
    },
    'failed-stays': {
      sentence:
        'a payment that is `failed` or `abandoned` is not paid later on the same page, so a wait ends.',
      leans: 'finalStatuses, by which a wait ends',
      todo: "Leave the status out of polling.finalStatuses: finalStatuses: ['success', …].",
      ask: 'Which statuses are final? Can failed or abandoned become success?',
    },
    'new-is-open': {
      sentence: 'a new payment is `pending` or `processing`.',
      leans: 'waits, which would end at once, and orders, which would start another payment',
      todo: 'Leave the status out of polling.finalStatuses. If it is success, do not go live.',
      ask: 'Which status does a new payment have before the customer acts?',
    },
    'outcome-shown': {
      sentence: 'Read the status reports the result of a payment within 10 s.',
      leans: 'the pauses between two polls (polling.minDelay, polling.maxDelay)',
      todo: 'Set a longer polling.timeout, and tell the customer that it can take longer.',
      ask: 'How soon after the customer has paid does a read report it?',
    },
    'other-statuses': {
      sentence: 'other statuses can appear.',
      leans: 'waits and orders',
      ask: 'Which statuses are there beside pending, processing, success, failed and abandoned?',
      unshown: 'no status can break it',
    },
  },
  'Amounts and currencies': {
    'two-decimals': {
      sentence:
        'an amount has at most two decimals in every currency, and at most 2⁴⁶, up to which a JSON number is exact.',
      leans: 'InvalidInputError, and the comparison of amounts',
      todo: 'Nothing to change: the package sends no such amount. Other programs of yours must not either.',
      ask: 'Which currencies and which largest amount do you accept, and do you round an amount?',
    },
    'money-echoed': {
      sentence: 'a response names the amount and currency of the request, without a fee.',
      leans: 'expect, and every order: a payment of another amount needs a person',
      todo: 'Do not go live: every payment would be a mismatch. Open an issue.',
      ask: 'Is a fee added to amount in any response?',
    },
    'main-units': {
      sentence: 'an amount is in main units: `25.50` is 25 cedis and 50 pesewas.',
      leans: 'every price, and maxAmount',
      ask: 'Is an amount in main units, so that 25.50 is 25 cedis and 50 pesewas?',
      unshown: 'test mode moves no money: make the first charge, of 1.00',
    },
  },
  Errors: {
    refusal: {
      sentence:
        "a registered 4xx status other than 408 means that the service refused the request, so no charge exists from it, on which `outcome: 'rejected'` relies.",
      leans: 'outcome: rejected, after which a shop can charge again',
      todo: 'Let a person look into each error whose outcome is rejected before the order is charged again.',
      ask: 'Does every 4xx mean that no transaction was made?',
    },
    'rules-refused': {
      sentence: 'a request that breaks a documented rule is refused with a 4xx status.',
      leans: 'outcome: a 5xx in its place would be unknown',
      todo: 'Check the input of other programs yourself: the package refuses such input before it sends.',
      ask: 'Which status code do you respond with to a request that is not valid?',
    },
    'too-many': {
      sentence:
        '429 means that the service did not accept the request, so it can be sent again after `Retry-After`, in seconds or as a date.',
      leans: 'the retry of a charge after a 429',
      ask: 'Does a 429 always mean that no transaction was made?',
      unshown: 'the probe stays below every limit',
    },
    'unproven-errors': {
      sentence: '5xx, 408 and 3xx prove nothing about a charge, so the outcome of a POST is `unknown`.',
      leans: 'outcome: unknown',
      unshown: 'no status code can break it',
    },
    'error-bodies': {
      sentence: 'an error body can be JSON of any form, HTML, text or nothing.',
      leans: 'APIError, which keeps what it can read',
      unshown: 'no body can break it',
    },
  },
  Idempotency: {
    'equal-requests': {
      sentence: 'the service makes two charges of two equal requests.',
      leans: 'the journal, which sends at most one',
      todo: 'Nothing to change. Two orders of one customer with one price could share a payment: ask for how long.',
      ask: 'When are two equal requests one transaction, and for how long? How can we find a charge without its reference?',
    },
    'idempotency-key': {
      sentence: 'the service has no idempotency key.',
      leans: 'an unresolved key, which a person has to look into',
      todo: 'Open an issue: with the header Idempotency-Key, a lost response would need no person.',
      ask: 'Do you accept an idempotency key?',
    },
  },
  Webhooks: {
    'webhook-untrusted': {
      sentence:
        'anyone can send a webhook, so the package [trusts none](../guides/webhooks.md): `notify` only makes a check come now.',
      leans: 'the route that receives webhooks',
      ask: 'Which payload, address, signature and retries do webhooks have?',
      unshown: 'no webhook can break it',
    },
    'webhook-reference': {
      sentence: 'a webhook contains the reference of its transaction.',
      leans: 'notify, which finds the reference in the body',
      todo: 'Leave webhooks out: polls and follow-ups find every result without them.',
      ask: 'In which field does a webhook name the transaction?',
    },
  },
  Limits: {
    'rate-limit': {
      sentence: 'above its rate limit the service responds with 429.',
      leans: 'polling.maxRequestsPerSecond',
      ask: 'How many requests per second do you allow, for each API key and each reference?',
      unshown: 'the probe stays below every limit',
    },
  },
};

/** All assumptions, in the order of docs/reference/service.md. */
export const assumptions: ReadonlyMap<string, Assumption> = new Map(
  Object.values(assumptionsBySection).flatMap((section) => Object.entries(section)),
);
