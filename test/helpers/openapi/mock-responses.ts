import { isObject, parseJson, stringField } from '../../../src/support/untrusted.ts';
import { assumed, type DescribedRequest, type DescribedResponse, documented } from './description.ts';

/**
 * Lists what is wrong with a response of the mock or the sandbox. It must be what the package assumes. A 2xx response must
 * also be documented, but for the status `processing` of a verify.
 */
export function findMockResponseIssues(
  request: Pick<DescribedRequest, 'method' | 'path'>,
  response: DescribedResponse,
): string[] {
  if (!assumed.hasOperation(request)) return findUnknownPathIssues(response);
  const issues = assumed.findResponseIssues(request, response);
  if (response.status >= 300) return issues;
  const body = response.body.replace(/("status":)"processing"/, '$1"pending"');
  const isVerify = request.method === 'GET';
  issues.push(...documented.findResponseIssues(request, isVerify ? { ...response, body } : response));
  if (!leadsToItself(response.body)) issues.push('checkout_url is that of another reference');
  return issues;
}

/** A path or a method that no operation has: 404 and 405 are assumptions too. */
function findUnknownPathIssues({ status, headers, body }: DescribedResponse): string[] {
  const issues = assumed.findSchemaIssues('Error', parseJson(body));
  if (![404, 405, 413].includes(status)) issues.push(`${status} for what is not described`);
  if (status === 405 && !/^(?:GET|POST)$/.test(headers.get('allow') ?? '')) issues.push('405 without allow');
  return issues;
}

/** Whether a `checkout_url` ends with the reference beside it, which a schema cannot say. */
function leadsToItself(body: string): boolean {
  const parsed = parseJson(body);
  const data = isObject(parsed) && 'data' in parsed && isObject(parsed.data) ? parsed.data : {};
  const url = stringField(data, 'checkout_url');
  return url === undefined || url.endsWith(`/checkout/${stringField(data, 'reference')}`);
}
