/** The address of the service: encrypted, unless it is on this machine. */

import { ConfigurationError } from './errors.ts';
import { refuseUnexpanded } from './parse-options.ts';

/** @throws {ConfigurationError} if it is missing, or cannot be the address of the service. */
export function validateBaseUrl(baseUrl: unknown, allowHttp: boolean): string {
  if (baseUrl === undefined || baseUrl === '') {
    throw new ConfigurationError(
      'There is no base URL. Pass baseUrl, such as https://payments.example/api/v1, or set PAYMENTS_BASE_URL.',
    );
  }
  if (typeof baseUrl !== 'string' || !URL.canParse(baseUrl)) {
    throw new ConfigurationError('baseUrl must be an address such as https://payments.example/api/v1.');
  }
  refuseUnexpanded('The base URL', 'PAYMENTS_BASE_URL', baseUrl);
  const url = new URL(baseUrl);
  const { protocol, username, password, origin, pathname } = url;
  if (username || password) {
    throw new ConfigurationError(
      'baseUrl must have no user name or password in it: the key goes into apiKey.',
    );
  }
  if (/[?#]/.test(baseUrl)) throw new ConfigurationError('baseUrl must have no query and no fragment.');
  if (protocol !== 'https:' && (protocol !== 'http:' || (isHttpToOthers(url) && !allowHttp))) {
    throw new ConfigurationError(
      'baseUrl must begin with https://, or others on the network could read the key. http:// is for this machine, and ' +
        'for a sandbox with dangerouslyAllowHttp: true and a key sk_test_….',
    );
  }
  return origin + pathname.replace(/\/+$/, '');
}

export function isHttpToOthers({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopback(hostname);
}

/** Whether only this machine can be reached under a host name or an address. An IPv6 one can be in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host);
}
