const PAGE = /^(?:README|AGENTS|CHANGELOG|SECURITY)\.md$|^docs\/(?!api\/).*\.md$/;
const DESCRIPTION = 'docs/reference/openapi.yaml';
const PICTURE = /^docs\/images\/[\w-]+\.(?:svg|png)$/;
const EXAMPLE = /^examples\//;
const KEPT_OUT =
  /\/(?:node_modules|test|\.[^/]+|package-lock\.json|biome\.json|next-env\.d\.ts|[^/]+\.tgz)(?:\/|$)/;

/** Whether a file of the repository is packed, beside the built code, the licence and package.json. */
export function isPacked(path: string): boolean {
  return (
    PAGE.test(path) ||
    path === DESCRIPTION ||
    PICTURE.test(path) ||
    (EXAMPLE.test(path) && !KEPT_OUT.test(path))
  );
}

/** Whether a link leads to something in the package: a file or a folder. */
export function isReachable(path: string): boolean {
  const isFolder = !/\.\w+$/.test(path) && !path.endsWith('Dockerfile');
  return (
    isPacked(isFolder ? `${path.replace(/\/$/, '')}/file` : path) || /^(?:LICENSE|package\.json)$/.test(path)
  );
}
