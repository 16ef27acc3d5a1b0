import fc from 'fast-check';
import { linkSteps, type LinkProblem, type UnlinkedStep } from './link-steps.js';
import { resolveRetryPolicy } from '../options/retry-policy.js';
import type { StepNode } from './saga-graph.js';

const RETRY = resolveRetryPolicy({ attempts: 1 });

function step(name: string, ...after: string[]): UnlinkedStep {
  return {
    name,
    kind: 'step',
    join: 'all',
    itemsAtOnce: 10,
    pivot: false,
    after,
    retry: RETRY,
    compensationRetry: RETRY,
    transactional: false,
    idempotent: true,
    compensateOnFailure: false,
    optional: false,
  };
}

function linked(...steps: UnlinkedStep[]): ReadonlyMap<string, StepNode> {
  const graph = linkSteps(steps);
  if (!(graph instanceof Map)) throw new Error(`no graph: ${JSON.stringify(graph)}`);
  return graph;
}

function problemsOf(...steps: UnlinkedStep[]): LinkProblem[] {
  const problems = linkSteps(steps);
  if (!Array.isArray(problems)) throw new Error('a graph where problems were expected');
  return problems;
}

/** Edges point from earlier to later names, then the order of declaration is shuffled. */
const shuffledDags = fc
  .array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 12 })
  .chain((edges) => {
    const steps = edges.map((targets, index) =>
      step(`s${index}`, ...new Set(index === 0 ? [] : targets.map((target) => `s${target % index}`))),
    );
    return fc.shuffledSubarray(steps, { minLength: steps.length });
  });

describe('steps linked into a graph', () => {
  it('of a sequence each know the one before and the one after', () => {
    const graph = linked(step('a'), step('b', 'a'), step('c', 'b'));
    expect([...graph.keys()]).toEqual(['a', 'b', 'c']);
    expect([...graph.values()].map((node) => node.dependents)).toEqual([['b'], ['c'], []]);
  });

  it('fork and join', () => {
    const graph = linked(step('a'), step('left', 'a'), step('right', 'a'), step('join', 'left', 'right'));
    expect(graph.get('a')?.dependents).toEqual(['left', 'right']);
    expect(graph.get('left')?.dependents).toEqual(['join']);
    expect(graph.get('right')?.dependents).toEqual(['join']);
    expect(graph.get('join')?.after).toEqual(['left', 'right']);
  });

  it('may be several separate strands', () => {
    const graph = linked(step('a'), step('b'), step('c', 'a'), step('d', 'b'));
    expect([...graph.keys()]).toEqual(['a', 'b', 'c', 'd']);
  });

  it('come after those that they wait for, wherever they are declared', () => {
    expect([...linked(step('c', 'b'), step('b', 'a'), step('a')).keys()]).toEqual(['a', 'b', 'c']);
  });

  it('keep the order of their declaration wherever the edges allow', () => {
    const graph = linked(step('z'), step('y', 'x'), step('x'), step('w'));
    expect([...graph.keys()]).toEqual(['z', 'x', 'y', 'w']);
  });

  it('are one dependent only, even where an edge is named twice', () => {
    expect(linked(step('a'), step('b', 'a', 'a')).get('a')?.dependents).toEqual(['b']);
  });

  it('may have the names that every object has', () => {
    const graph = linked(
      step('constructor'),
      step('__proto__', 'constructor'),
      step('toString', '__proto__'),
    );
    expect([...graph.keys()]).toEqual(['constructor', '__proto__', 'toString']);
    expect(graph.get('__proto__')?.dependents).toEqual(['toString']);
  });

  it('cannot be changed', () => {
    expect([...linked(step('a'), step('b', 'a')).values()].every(Object.isFrozen)).toBe(true);
  });

  it('are in topological order with inverse edges, for any graph without a cycle', () => {
    fc.assert(
      fc.property(shuffledDags, (steps) => {
        const graph = linked(...steps);
        const order = [...graph.keys()];
        expect(new Set(order)).toEqual(new Set(steps.map(({ name }) => name)));
        for (const node of graph.values()) {
          for (const name of node.after) {
            expect(order.indexOf(name)).toBeLessThan(order.indexOf(node.name));
            expect(graph.get(name)?.dependents).toContain(node.name);
          }
          for (const name of node.dependents) expect(graph.get(name)?.after).toContain(node.name);
        }
      }),
    );
  });
});

describe('steps that form no graph', () => {
  it('because of a name that does not exist are rejected with the names that exist', () => {
    const [found, ...more] = problemsOf(step('a'), step('b', 'xyz'), step('c', 'b'));
    expect(more).toEqual([]);
    expect(found).toMatchObject({ step: 'b', severity: 'error' });
    expect(found!.problem).toMatch(/'xyz'/);
    expect(found!.fix).toMatch(/^name one of its steps: a, b, c$/);
  });

  it('because of a misspelt name are rejected with the name that may be meant', () => {
    const [found] = problemsOf(step('chargeCard'), step('reserveStock'), step('ship', 'reservStok'));
    expect(found!.fix).toMatch(/^did you mean 'reserveStock'\? Name one of its steps: /);
  });

  it('are rejected with every unknown name and every cycle in one error', () => {
    const problems = problemsOf(step('a', 'x', 'y'), step('b', 'z'), step('c', 'd'), step('d', 'c'));
    expect(problems.map(({ step: name }) => name)).toEqual(['a', 'a', 'b', 'c']);
  });

  it.each<[string, UnlinkedStep[], string[]]>([
    ['waits for itself', [step('a', 'a')], ['a → a']],
    ['is a circle of two', [step('a', 'b'), step('b', 'a')], ['a → b → a']],
    ['hangs on a circle', [step('c', 'b'), step('a', 'b'), step('b', 'a')], ['a → b → a']],
    ['has a circle behind a good start', [step('a'), step('b', 'a', 'c'), step('c', 'b')], ['b → c → b']],
    ['is a circle of three', [step('a', 'c'), step('b', 'a'), step('c', 'b')], ['a → b → c → a']],
    [
      'has two circles, one after the other',
      [step('a', 'b'), step('b', 'a'), step('c', 'a', 'd'), step('d', 'c')],
      ['a → b → a', 'c → d → c'],
    ],
  ])('because one %s are rejected with the cycle, in the order of its steps', (_, steps, circles) => {
    const problems = problemsOf(...steps);
    expect(problems.map(({ problem }) => problem)).toEqual(
      circles.map((circle) => `waits for itself, in the cycle ${circle}`),
    );
    expect(problems.map(({ step: name }) => name)).toEqual(circles.map((circle) => circle.split(' ')[0]));
  });

  it('are recognised in any graph that one edge back turns into a circle, by edges that it has', () => {
    fc.assert(
      fc.property(shuffledDags, fc.nat(), (steps, pick) => {
        const target = linked(...steps).get(steps[pick % steps.length]!.name)!;
        // An edge from the target to something that already waits for it, or to itself.
        const late = target.dependents[0] ?? target.name;
        const circle = steps.map((one) =>
          one.name === target.name ? { ...one, after: [...one.after, late] } : one,
        );
        const names = problemsOf(...circle).map(({ problem }) => problem.split('cycle ')[1]!.split(' → '));
        expect(names.flat()).toContain(target.name);
        for (const path of names) {
          for (const [index, name] of path.slice(1).entries()) {
            expect(circle.find((one) => one.name === name)!.after).toContain(path[index]);
          }
        }
      }),
    );
  });

  it('are recognised in any graph that lacks a step which another waits for', () => {
    fc.assert(
      fc.property(shuffledDags, fc.nat(), (steps, pick) => {
        const gone = steps[pick % steps.length]!;
        const left = steps.filter((one) => one !== gone);
        const waiting = left.filter((one) => one.after.includes(gone.name)).map(({ name }) => name);
        fc.pre(waiting.length > 0);
        const problems = problemsOf(...left);
        expect(problems.map(({ step: name }) => name)).toEqual(waiting);
        for (const { problem } of problems) expect(problem).toContain(`'${gone.name}'`);
      }),
    );
  });
});
