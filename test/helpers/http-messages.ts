/** Returns the length of the request at the start of these bytes, once it is whole. It has no chunked body. */
export function measureRequest(read: Buffer): number | undefined {
  const headEnd = read.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, declared = '0'] = /\r\ncontent-length: (\d+)/i.exec(read.toString('latin1', 0, headEnd)) ?? [];
  const length = headEnd + 4 + Number(declared);
  return read.length >= length ? length : undefined;
}

export const isWholeRequest = (text: string): boolean =>
  measureRequest(Buffer.from(text, 'latin1')) !== undefined;

/** Returns a 200 with JSON, as it is on the wire. */
export function formatSuccess(body: object): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}
