// The ratios that the regression gate compares with the published ones. Each is taken within a round, so that the state of
// the machine is the same for both of its parts.
import { ofEngine, ofMeasure, ratios, valuesOf } from '../report/lines.mjs';
import { summary } from '../report/statistics.mjs';

/**
 * @property better which direction is better: 'more' or 'less'
 * @property of the values of a run's lines, one a round
 */
export const COMPARED = [
  {
    what: 'throughput, times DBOS',
    better: 'more',
    of: (lines) =>
      ratios(ofEngine(lines)('saga', 'throughput'), ofEngine(lines)('dbos direct', 'throughput')),
  },
  {
    what: 'throughput, part of the same rows by SQL alone',
    better: 'more',
    of: (lines) => valuesOf(ofMeasure(lines)('limit', 'part_of_limit_ratio')),
  },
  {
    what: 'processors’ time, times that of the same rows by SQL alone',
    better: 'less',
    of: (lines) => valuesOf(ofMeasure(lines)('limit', 'cpu_to_sql_ratio')),
  },
  {
    what: 'latency p50, times that of four bare commits',
    better: 'less',
    of: (lines) => valuesOf(ofMeasure(lines)('bare-commits', 'to_bare_ratio')),
  },
];

/** { ratio: { median, min, max, rounds } }, as they are published; without those that were not measured. */
export function comparedOf(lines) {
  const found = COMPARED.map(({ what, of }) => [what, summary(of(lines))]);
  return Object.fromEntries(found.filter(([, ratio]) => ratio !== undefined));
}
