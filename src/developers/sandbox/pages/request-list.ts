import { html } from 'hono/html';
import { createRedact } from '../../../support/redact.ts';
import { isRecord, parseJson } from '../../../support/untrusted.ts';
import type { Html } from '../../../ui/markup.ts';
import type { Entry } from '../../service/ledger.ts';
import type { Exchange } from '../../service/service.ts';
import { LIVE_KEY } from '../options.ts';
import type { RequestGroup, RequestHistory } from '../request-history.ts';
import { nameFault } from './fault-panel.ts';
import { formatDuration, renderTime } from './layout.ts';
import { renderBody, renderFacts, renderRow, shorten } from './row.ts';

/** Renders requests, newest first. Each opens to show its body, and why it was refused. */
export function renderRequests(caption: string, { groups, hidden }: RequestHistory, entry?: Entry): Html {
  return html`<ol class="requests" aria-label="${caption}">
${groups.toReversed().map((group) => html`<li>${renderGroup(group, entry)}</li>`)}
${hidden > 0 ? html`<li class="small">${hidden === 1 ? '1 older request is' : `${hidden} older requests are`} no longer shown.</li>` : ''}
</ol>`;
}

function renderGroup({ first, last, count }: RequestGroup, entry: Entry | undefined): Html {
  const { path, requestId, body, error } = describeExchange(first, entry);
  const { request, duration } = last;
  const address = html`<code>${request.method} ${path}</code>`;
  return renderRow({
    key: `request-${first.at}`,
    line: html`<b class="what">${(entry && nameOperation(request.operation)) ?? address}${count > 1 ? ` × ${count}` : ''}</b>
<span class="detail">${renderOutcome({ first, last }, entry)}</span>
<span class="end">${nameKey(last)} <span class="when">${renderPeriod(first.at, last.at)}</span></span>`,
    behind: renderFacts({
      Request: address,
      'X-Request-Id': requestId && html`<code>${requestId}</code>`,
      Body: body,
      Response: error,
      Duration: `${formatDuration(duration ?? 0)}${count > 1 ? ', the last one' : ''}`,
    }),
  });
}

function nameOperation(operation: Exchange['request']['operation']): string | null {
  return operation === 'chargeMobileMoney' ? 'charge' : operation;
}

/** Renders the status of a response, the fault that it met, and why the request was refused. */
export function renderOutcome({ first, last }: Pick<RequestGroup, 'first' | 'last'>, entry?: Entry): Html {
  const { fault } = last;
  const { message } = describeExchange(first, entry);
  return html`${renderStatus(last)}${fault === null ? '' : html` <span class="tag fault">fault: ${nameFault(fault)}</span>`} ${message}`;
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

const descriptions = new WeakMap<Exchange, ReturnType<typeof redactExchange>>();

/** Describes a request and its response. It does so once, because each update of a page shows all of them. */
function describeExchange(exchange: Exchange, entry: Entry | undefined) {
  const description = descriptions.get(exchange) ?? redactExchange(exchange, entry);
  descriptions.set(exchange, description);
  return description;
}

const MAX_CHARS = 255;

function redactExchange({ request, errorBody }: Exchange, entry: Entry | undefined) {
  const { path, headers, body } = request;
  const redact = createRedact([LIVE_KEY], entry?.mobileMoney?.phone, entry?.customer_email);
  const error = parseJson(errorBody ?? undefined);
  const isText = typeof body === 'string';
  return {
    path: shorten(redact(path), MAX_CHARS),
    requestId: shorten(redact.id(headers['x-request-id'] ?? ''), MAX_CHARS),
    body: renderBody(
      isText ? body : body === null ? '' : JSON.stringify(body),
      isText ? undefined : body,
      redact,
    ),
    error: renderBody(errorBody ?? '', error, redact),
    /** The message in the body of an error response. */
    message:
      isRecord(error) && typeof error.message === 'string' ? shorten(redact(error.message), MAX_CHARS) : '',
  };
}
