/** Returns the median, which other load on the machine changes least. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Formats the minimum and the maximum. */
export function spread(figures: readonly number[], digits = 0): string {
  return [Math.min(...figures), Math.max(...figures)].map((figure) => figure.toFixed(digits)).join(' - ');
}
