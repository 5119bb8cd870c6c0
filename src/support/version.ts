/** The version in package.json, for the User-Agent header; a test holds the two together. */
export const version = '0.1.0';
