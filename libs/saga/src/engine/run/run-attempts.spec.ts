import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { gate, portsTo, runOf, SAGA } from '../../../../../test/fixtures/run-of.js';
import type { StepContext } from '../../definition/types/contexts.js';
import type { Action } from '../../machine/plan.js';

const graph = graphOf(stepOf('a'), stepOf('b', { compensate: 'undo b' }), stepOf('c'));

const actionOf = (key: string, kind: 'run' | 'compensate' = 'run'): Action => {
  return { kind, key, node: graph.steps.get(key)! };
};

/** The attempts of a run, each of which ends with its gate. */
function scene() {
  const gates = new Map(['a', 'undo b', 'c'].map((method) => [method, gate()]));
  const aborted = new Map<string, string>();
  const { attempts } = runOf(
    SAGA,
    graph,
    (method, context) => {
      const { signal } = context as StepContext;
      signal.addEventListener('abort', () => aborted.set(method, (signal.reason as Error).message));
      return gates.get(method)!.passed;
    },
    portsTo([]),
  );
  const end = async (method: string) => {
    gates.get(method)!.open();
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (const action of [actionOf('a'), actionOf('b', 'compensate'), actionOf('c')]) attempts.start(action);
  return { attempts, end, aborted };
}

describe('the attempts in progress of a run', () => {
  test('is what has begun and not ended, in whatever order', async () => {
    const { attempts, end } = scene();
    const [, b] = attempts.all;
    expect([attempts.size, attempts.has(b!), attempts.includes('b')]).toEqual([3, true, true]);
    await end('undo b');
    expect([attempts.size, attempts.has(b!), attempts.includes('b')]).toEqual([2, false, false]);
    await end('c');
    await end('a');
    expect(attempts.size).toBe(0);
    attempts.start(actionOf('a'));
    expect([attempts.size, attempts.includes('a')]).toEqual([1, true]);
    attempts.clear();
    expect([attempts.size, attempts.includes('a')]).toEqual([0, false]);
  });

  test('is of one run alone', () => {
    scene();
    expect(runOf(SAGA, graph, () => undefined, portsTo([])).attempts.size).toBe(0);
  });

  test('is aborted as a whole, or by kind', () => {
    const { attempts, aborted } = scene();
    attempts.abort('cancelled', 'cancelled', 'run');
    expect(Object.fromEntries(aborted)).toEqual({ a: 'cancelled', c: 'cancelled' });
    attempts.abort('shutdown', 'shut down');
    expect(aborted.get('undo b')).toBe('shut down');
  });
});
