import { isObject, orUndefined } from '../support/untrusted.ts';
import { REQUEST_ID } from './request-id.ts';

/** Node's fetch and undici publish here that they write the headers of a request next. Other runtimes publish nothing. */
const CHANNEL = 'undici:client:sendHeaders';

/** Of the requests under way, by the id that they carry. A caller's own id can be that of several. */
const listeners = new Map<string, Set<() => void>>();

/**
 * Calls `listener` right before the headers of a request with this id are written, on a runtime that shows it. An abort at
 * that moment still keeps them back. Returns a function that ends it: nothing is subscribed while no request is under way.
 */
export function onSendHeaders(requestId: string, listener: () => void): () => void {
  if (listeners.size === 0) diagnostics()?.subscribe(CHANNEL, onMessage);
  const same = listeners.get(requestId) ?? new Set();
  listeners.set(requestId, same.add(listener));
  return () => {
    same.delete(listener);
    if (same.size === 0) listeners.delete(requestId);
    if (listeners.size === 0) diagnostics()?.unsubscribe(CHANNEL, onMessage);
  };
}

// Never imported: a browser and a bundler have no such module.
const diagnostics = () => orUndefined(() => globalThis.process.getBuiltinModule('node:diagnostics_channel'));

/** Names and values of the headers take turns, in every version of undici since 6. */
function onMessage(message: unknown): void {
  const request = isObject(message) && 'request' in message ? message.request : undefined;
  const headers = isObject(request) && 'headers' in request ? request.headers : undefined;
  if (!Array.isArray(headers)) return;
  const id: unknown = headers[headers.indexOf(REQUEST_ID) + 1];
  if (typeof id !== 'string') return;
  for (const listener of listeners.get(id) ?? []) listener();
}
