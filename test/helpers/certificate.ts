import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A key and a self-signed certificate, as PEM. */
export interface Certificate {
  key: string;
  cert: string;
}

/** Creates a certificate with `node:crypto` alone, by default for `127.0.0.1`. `from` and `until` are in days from now. */
export function createCertificate({ address = [127, 0, 0, 1], from = -1, until = 1 } = {}): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const name = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from('test')))));
  const alternativeNames = sequence(der(0x87, Buffer.from(address)));
  const extensions = sequence(sequence(oid(0x55, 0x1d, 0x11), der(0x04, alternativeNames)));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1, ...randomBytes(8)),
    algorithm,
    name,
    sequence(dayFromNow(from), dayFromNow(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const certificate = sequence(body, algorithm, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
  };
}

/** Encodes one element of DER: its tag, length and contents. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...contents: Buffer[]) => der(0x30, ...contents);
const integer = (...bytes: number[]) => der(0x02, Buffer.from(bytes));
const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes));

function dayFromNow(days: number): Buffer {
  const time = new Date(Date.now() + days * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(time));
}
