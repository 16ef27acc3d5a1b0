const UNITS = [
  [/sagas_per_s$/, 'sagas/s'],
  [/steps_per_s$/, 'steps/s'],
  [/mb_per_s$/, 'MB/s'],
  [/_per_s$/, '1/s'],
  [/_ms$/, 'ms'],
  [/us_per_saga$/, 'µs'],
  [/bytes_per_saga$/, 'bytes'],
  [/_mb$/, 'MB'],
  [/_pct$/, '%'],
];

/** What a metric is counted in, by the end of its name; '' for counts and ratios. */
export const unitOf = (metric) => UNITS.find(([pattern]) => pattern.test(metric))?.[1] ?? '';
