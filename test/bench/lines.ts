import type { Line } from './bench.js';

/** A line of an engine's. */
export const engine = (
  name: string,
  variant: string,
  metric: string,
  value: number,
  round = 1,
  more: Line = {},
): Line => ({
  ...{ engine: name, variant, version: '1.0.0', settings: { pool: 10 }, metric, value, round },
  ...more,
});

export const ours = (metric: string, value: number, round = 1, more: Line = {}): Line =>
  engine('saga', 'outcome', metric, value, round, more);

/** A line of a measure of the suite. */
export const figure = (
  measure: string,
  metric: string,
  value: number,
  params: Line = {},
  round = 1,
): Line => ({ measure, metric, value, unit: '', version: '1.0.0', round, complete: true, ...params });
