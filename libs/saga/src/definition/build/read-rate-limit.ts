import type { Duration } from '../options/duration.js';
import type { OptionReader } from '../options/option-reader.js';

/** A rate limit of a saga or a step, whose functions of keys differ. */
export function readRateLimit<K extends (...args: never[]) => unknown>(
  rateLimit: { count: number; per: Duration; key?: K } | undefined,
  read: OptionReader,
): { readonly count: number; readonly per: number; readonly key?: K } | undefined {
  if (rateLimit === undefined) return undefined;
  const given = read.object(
    rateLimit,
    'rateLimit',
    ['count', 'per', 'key'],
    "such as { count: 10, per: '1s' }",
  );
  const key = given && read.function(given.key, 'rateLimit.key');
  return (
    given && {
      count: read.count(given.count, 'rateLimit.count'),
      per: read.durationAboveZero(given.per!, 'rateLimit.per', 'would limit nothing'),
      ...(key && { key }),
    }
  );
}
