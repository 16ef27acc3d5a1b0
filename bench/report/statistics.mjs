export function median(xs) {
  const sorted = xs.slice().sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** { median, min, max, rounds } of several values; undefined of none. */
export function summary(xs) {
  if (xs.length === 0) return undefined;
  return { median: median(xs), min: Math.min(...xs), max: Math.max(...xs), rounds: xs.length };
}

/** Slope of the least-squares line through ys. */
export function slope(ys) {
  const mean = (xs) => xs.reduce((a, b) => a + b, 0) / xs.length;
  const xs = ys.map((_, n) => n);
  const [mx, my] = [mean(xs), mean(ys)];
  return (
    xs.reduce((sum, x, n) => sum + (x - mx) * (ys[n] - my), 0) / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0)
  );
}
