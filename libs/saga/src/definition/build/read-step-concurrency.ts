import type { StepNode } from '../graph/saga-graph.js';
import type { OptionReader } from '../options/option-reader.js';
import type { StepOptions } from '../options/step-options.js';

/** Items of a fan-out at once, if it does not say. */
const DEFAULT_CONCURRENCY = 10;

/** How many items of one saga run at once, and how many attempts of all sagas. */
export function readStepConcurrency(
  given: StepOptions['concurrency'],
  read: OptionReader,
): Pick<StepNode, 'sharedConcurrency'> & { readonly concurrency: number | undefined } {
  if (given === undefined) return { concurrency: DEFAULT_CONCURRENCY };
  if (typeof given !== 'object' || given === null) return { concurrency: read.count(given, 'concurrency') };
  const limit = read.object(
    given,
    'concurrency',
    ['count', 'key'],
    'a whole number, or { count: 5, key: (ctx) => ctx.input.account }',
  );
  const count = limit && read.count(limit.count, 'concurrency.count');
  const key = limit && read.function(limit.key, 'concurrency.key');
  if (count === undefined) return { concurrency: DEFAULT_CONCURRENCY };
  return {
    // Items of one saga that could not run at the same time need not wait beside each other.
    concurrency: key ? DEFAULT_CONCURRENCY : Math.min(count, DEFAULT_CONCURRENCY),
    sharedConcurrency: { count, ...(key && { key }) },
  };
}
