import type { Transport } from '../options.ts';

/** The same in the ES module and the CommonJS build, and in each entry point: a client of one takes a transport of another. */
const MARK = Symbol.for('payment-collection-client/own-connections');

type Exchange = Transport['send'];

/**
 * Marks the `exchange` of a transport whose errors can only come from its own connections to the service. A function
 * that wraps `exchange` is another function, so it does not inherit the mark.
 *
 * @param isOwn asked before each attempt
 */
export function markOwnConnections(exchange: Exchange, isOwn: () => boolean): Exchange {
  return Object.defineProperty(exchange, MARK, { value: { exchange, isOwn } });
}

/**
 * Whether an error of this transport can only be about the request itself. Code of the merchant around a request can
 * make requests of its own, and a refused connection of one of those proves nothing about the charge.
 */
export function hasOwnConnections({ send: exchange }: Transport): boolean {
  const mark: unknown = Reflect.get(exchange, MARK);
  if (typeof mark !== 'object' || mark === null || !('exchange' in mark && 'isOwn' in mark)) return false;
  // A Proxy shows the mark of its target, which is another function.
  return mark.exchange === exchange && typeof mark.isOwn === 'function' && mark.isOwn() === true;
}

/**
 * Whether `globalThis.fetch` is Node's own, which connects to the service and to nothing else. A framework or a test may
 * have replaced it before this package was loaded, so only its source can tell.
 */
export function isNodesOwnFetch(): boolean {
  const { fetch } = globalThis;
  return isNodesSource(fetch) && GLOBAL_DISPATCHERS.every(isPlainDispatcher);
}

const nodesOwn = new WeakMap<object, boolean>();

function isNodesSource(fetch: unknown): boolean {
  if (typeof fetch !== 'function') return false;
  const known = nodesOwn.get(fetch);
  if (known !== undefined) return known;
  const isNodes = /\brequire\('internal\/deps\/undici\/undici'\)/.test(
    Function.prototype.toString.call(fetch),
  );
  nodesOwn.set(fetch, isNodes);
  return isNodes;
}

/** Where undici's `setGlobalDispatcher` puts what Node's fetch sends through: the second since undici 8. */
const GLOBAL_DISPATCHERS = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'];

/** undici's classes that connect and do nothing else. The last makes one of undici 8 fit for Node's own undici 7. */
const PLAIN_DISPATCHERS = ['Agent', 'ProxyAgent', 'EnvHttpProxyAgent', 'Dispatcher1Wrapper'];

/** With an interceptor composed into it, `dispatch` is no longer that of its class. */
function isPlainDispatcher(name: string): boolean {
  const dispatcher: unknown = Reflect.get(globalThis, Symbol.for(name));
  if (dispatcher === undefined) return true;
  if (typeof dispatcher !== 'object' || dispatcher === null) return false;
  const prototype: unknown = Object.getPrototypeOf(dispatcher);
  if (typeof prototype !== 'object' || prototype === null) return false;
  if (Reflect.get(dispatcher, 'dispatch') !== Reflect.get(prototype, 'dispatch')) return false;
  return PLAIN_DISPATCHERS.includes(prototype.constructor.name);
}
