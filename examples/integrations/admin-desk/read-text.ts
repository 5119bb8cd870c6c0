/** Returns a field of a form or a query. A field that is absent, or there twice, is empty. */
export function readText(fields: unknown, name: string): string {
  const value: unknown = Object(fields)[name];
  return typeof value === 'string' ? value : '';
}
