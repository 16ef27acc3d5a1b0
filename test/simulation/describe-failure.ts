import { describeGraph } from '../oracle/random-graph.js';
import { PROMISES } from './promises.js';
import { scenarioOf } from './scenario.js';
import { type Run, simulate } from './simulate.js';

/** A failing scenario for people: what is broken, how to see it again, what there was, and all that happened. */
export async function describeFailure(seed: number, without: readonly string[]): Promise<string> {
  const left = new Set(without);
  const run = await simulate(scenarioOf(seed, left), true);
  const { sagas, workers, lease, concurrency, ahead, faults, calls, starts } = scenarioOf(seed, left);
  const used = sagas.filter((_, n) => starts.some(({ saga }) => saga === n));
  return [
    ...describeViolations(run),
    `Again: npm run simulate -- --seed=${seed}${without.length > 0 ? ` --without='${without.join(',')}'` : ''}`,
    `${workers} workers, ${concurrency} sagas at once and ${ahead} that wait in each, leases of ${lease} ms`,
    ...faults.map(({ name, kind, at, duration }) => `${name}: ${kind} at ${at} for ${duration} ms`),
    ...calls.map(({ name, kind, saga, at }) => `${name}: ${kind} of saga-${saga} at ${at}`),
    ...used.flatMap(({ graph }) => [`${graph.name}:`, ...describeGraph(graph).map((line) => `  ${line}`)]),
    ...run.log,
    ...run.waiting.map((why) => `Never ends: ${why}`),
  ].join('\n');
}

export function describeViolations({ violations }: Run): string[] {
  return violations.map(({ promise, what, at }) => {
    const when = at === Infinity ? 'in the end' : `at ${at.toFixed(1)} ms`;
    return `${promise} is broken ${when}: ${what} (${PROMISES[promise]})`;
  });
}
