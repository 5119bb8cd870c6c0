import { html } from 'hono/html';
import { createRedact } from '../../../support/redact.ts';
import { isRecord, parseJson } from '../../../support/untrusted.ts';
import type { Html } from '../../../ui/markup.ts';
import { faultSchema } from '../../service/faults.ts';
import type { Entry } from '../../service/ledger.ts';
import type { Exchange } from '../../service/service.ts';
import { LIVE_KEY } from '../options.ts';
import type { RequestGroup, RequestHistory } from '../request-history.ts';
import { nameFault } from './fault-card.ts';
import { formatDuration, renderTime } from './layout.ts';

/** Renders requests, newest first. Each opens to show its body, and why it was refused. */
export function renderRequests(caption: string, { groups, hidden }: RequestHistory, entry?: Entry): Html {
  return html`<ol class="requests" aria-label="${caption}">
${groups.toReversed().map((group) => renderGroup(group, entry))}
${hidden > 0 ? html`<li class="small">${hidden === 1 ? '1 older request is' : `${hidden} older requests are`} no longer shown.</li>` : ''}
</ol>`;
}

function renderGroup({ first, last, count }: RequestGroup, entry: Entry | undefined): Html {
  const { path, requestId, body, error } = describeExchange(first, entry);
  const { request, duration } = last;
  return html`<li><details data-key="request-${first.at}">
<summary>
<b class="name">${request.operation && entry ? nameOperation(request.operation) : html`<code>${request.method} ${path}</code>`}${count > 1 ? ` × ${count}` : ''}</b>
<span class="outcome">${renderOutcome({ first, last }, entry)}</span>
<span class="key">${nameKey(last)}</span>
<span class="when">${renderPeriod(first.at, last.at)}</span>
</summary>
<dl>
<dt>Request</dt><dd><code>${request.method} ${path}</code></dd>
${requestId === '' ? '' : html`<dt>X-Request-Id</dt><dd><code>${requestId}</code></dd>`}
${body === '' ? '' : html`<dt>Body</dt><dd><pre>${body}</pre></dd>`}
${error === '' ? '' : html`<dt>Response</dt><dd><pre>${error}</pre></dd>`}
<dt>Duration</dt><dd>${formatDuration(duration ?? 0)}${count > 1 ? ', the last one' : ''}</dd>
</dl>
</details></li>`;
}

function nameOperation(operation: NonNullable<Exchange['request']['operation']>): string {
  return operation === 'chargeMobileMoney' ? 'charge' : operation;
}

/** Renders the status of a response, the fault that it met, and why the request was refused. */
export function renderOutcome({ first, last }: Pick<RequestGroup, 'first' | 'last'>, entry?: Entry): Html {
  const { fault } = last;
  const { message } = describeExchange(first, entry);
  return html`${renderStatus(last)}${fault === null ? '' : html` <span class="tag fault">fault: ${nameFault(faultSchema, fault)}</span>`} ${message}`;
}

/** Names the key that was sent, never the key itself. */
function nameKey({ mode, hasKey }: Exchange): string {
  if (mode) return `${mode} key`;
  return hasKey ? 'unknown key' : 'no key';
}

function renderPeriod(from: number, to: number): Html {
  const isMoment = Math.floor(from / 1000) === Math.floor(to / 1000);
  return isMoment ? renderTime(to) : html`${renderTime(from)} – ${renderTime(to)}`;
}

function renderStatus({ request, status, found }: Exchange): Html {
  if (status === null) return html`<span class="bad">connection broken</span>`;
  if (status >= 400) return html`<span class="bad">${status}</span>`;
  return html`${status}${found === null || request.operation !== 'verify' ? '' : html` <b>${found}</b>`}`;
}

/** The texts of a request and its response, redacted. */
interface Description {
  readonly path: string;
  readonly requestId: string;
  readonly body: string;
  readonly error: string;
  /** The message in the body of an error response. */
  readonly message: string;
}

const descriptions = new WeakMap<Exchange, Description>();
const MAX_SHOWN_CHARS = 2_000;

function describeExchange(exchange: Exchange, entry: Entry | undefined): Description {
  const known = descriptions.get(exchange);
  if (known) return known;
  const { request, errorBody } = exchange;
  const redact = createRedact([LIVE_KEY], entry?.mobileMoney?.phone, entry?.customer_email);
  const error = errorBody === null ? undefined : parseJson(errorBody);
  const message = isRecord(error) && typeof error.message === 'string' ? error.message : '';
  const description = {
    path: shorten(redact(request.path), 255),
    requestId: shorten(redact.id(request.headers['x-request-id'] ?? ''), 255),
    body: formatBody(request.body, redact),
    error: formatBody(error ?? errorBody, redact),
    message: shorten(redact(message), 255),
  };
  descriptions.set(exchange, description);
  return description;
}

function formatBody(body: unknown, redact: ReturnType<typeof createRedact>): string {
  if (body === null || body === '') return '';
  const shown = redact.body(
    typeof body === 'string' ? { text: body, json: undefined } : { text: JSON.stringify(body), json: body },
  );
  return shorten(typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2), MAX_SHOWN_CHARS);
}

function shorten(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
