/** The paths of the admin pages. */
export const paths = {
  admin: '/admin',
  login: '/admin/login',
  logout: '/admin/logout',
  style: '/admin/style.css',
  icon: '/admin/icon.svg',
  keys: '/admin/keys',
  entry: '/admin/keys/entry',
} as const;

/** A key can contain anything, also `/` and `..`: so it is in the query. */
export const pathToEntry = (key: string) => `${paths.entry}?key=${encodeURIComponent(key)}`;
