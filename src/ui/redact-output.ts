import { createRedact, redactButUuids } from '../support/redact.ts';

export interface OutputRedaction {
  /** For what the journal holds. An operator must be able to copy a key exactly, so only API keys are redacted. */
  recorded(text: string): string;
  /** For the messages of this package, which redacts them. A secret of the environment is redacted once more. */
  own(text: string): string;
  /** For text of others: the errors and the log of the config and its packages. */
  foreign(text: string): string;
}

/**
 * Returns what redacts the secrets of this environment. Paths below `folder` are shortened, since a path can look like a
 * key.
 */
export function createOutputRedaction(env: NodeJS.ProcessEnv, folder: string): OutputRedaction {
  const apiKey = env.PAYMENTS_API_KEY ?? '';
  const recorded = createRedact(apiKey.length < MIN_SECRET_CHARS ? [] : [apiKey]).secrets;
  const redactSecrets = createRedact(listSecrets(env)).secrets;
  const own = (text: string) => redactSecrets(redactCredentials(text));
  return {
    recorded,
    own,
    foreign: (text) => redactButUuids(own(shortenPaths(text, folder))),
  };
}

const SECRET_NAME = /key|secret|pass|token|credential|auth/i;

/** A shorter value would be found in too many other texts. */
const MIN_SECRET_CHARS = 8;
const MIN_PASSWORD_CHARS = 5;

/** Lists the values of variables that are named as secrets, and the passwords in addresses. */
function listSecrets(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value = '']) => {
    const found = SECRET_NAME.test(name) && value.length >= MIN_SECRET_CHARS ? [value] : [];
    const password = URL.canParse(value) ? new URL(value).password : '';
    return password.length < MIN_PASSWORD_CHARS ? found : [...found, password, decode(password)];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const REDACTED = '[REDACTED]';

/** Redacts the login in an address, and what follows a word such as `password=` or `Bearer`. */
function redactCredentials(text: string): string {
  return text
    .replace(/:\/\/[^\s"'`]*@/g, `://${REDACTED}@`)
    .replace(/\b(bearer\s+)[^\s"'`]+/gi, `$1${REDACTED}`)
    .replace(
      /\b(pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key)(["']?\s{0,3}[:=]\s{0,3})("[^"]*"|'[^']*'|[^\s,;&)}]+)/gi,
      `$1$2${REDACTED}`,
    );
}

function shortenPaths(text: string, folder: string): string {
  const root = folder.endsWith('/') ? folder : `${folder}/`;
  return text.replaceAll(`file://${root}`, './').replaceAll(root, './');
}
