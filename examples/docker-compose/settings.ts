/** The settings of the shop: environment variables, set in compose.yaml. */
const { DATABASE_URL, PORT = '3000', PAYMENTS_ALLOW_HTTP } = process.env;

export const databaseUrl = DATABASE_URL;

export const port = Number(PORT);

/** Set for the sandbox in docker-compose, and not in production. */
export const allowHttp = PAYMENTS_ALLOW_HTTP === 'true';
