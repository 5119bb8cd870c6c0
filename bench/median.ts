/** The middle one: what else ran on the machine moves it least. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** The least and the most of them. */
export function spread(figures: readonly number[], digits = 0): string {
  return [Math.min(...figures), Math.max(...figures)].map((figure) => figure.toFixed(digits)).join(' - ');
}
