import fc from 'fast-check';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import { analyzeGraph } from './analyze-graph.js';
import { linkSteps, type UnlinkedStep } from './link-steps.js';
import { resolveRetryPolicy } from '../options/retry-policy.js';
import type { SagaFinding } from '../../shared/diagnostic.js';
import type { SagaGraph } from './saga-graph.js';
import { allRunsOf } from '../../../../../test/fixtures/runs-of-graph.js';

const RETRY = resolveRetryPolicy({ attempts: 1 });
const MAYBE = () => true;

/** A step of an analyzed graph; `any` is a list of names of which one is enough. */
type Options = Partial<UnlinkedStep> & { any?: string[] };

function step(name: string, { any, ...options }: Options = {}): UnlinkedStep {
  return {
    name,
    kind: 'step',
    after: any ?? [],
    join: any ? 'any' : 'all',
    itemsAtOnce: 10,
    pivot: false,
    retry: RETRY,
    compensationRetry: RETRY,
    transactional: false,
    idempotent: true,
    compensateOnFailure: false,
    optional: false,
    ...options,
  };
}

function graphOf(steps: readonly UnlinkedStep[]): SagaGraph {
  const linked = linkSteps(steps);
  if (!(linked instanceof Map)) throw new Error(`no graph: ${JSON.stringify(linked)}`);
  return { name: 'test', version: 1, onFailure: 'compensate', steps: linked as SagaGraph['steps'] };
}

function findings(...steps: UnlinkedStep[]): SagaFinding[] {
  return analyzeGraph(graphOf(steps));
}

function theOne(...steps: UnlinkedStep[]): SagaFinding {
  const [finding, ...more] = findings(...steps);
  expect(more).toEqual([]);
  expect(finding).toMatchObject({ severity: 'error', fix: expect.stringMatching(/\S/) });
  return finding!;
}

const isJoinAny = ({ join }: UnlinkedStep) => join === 'any';
const after = (...names: string[]) => ({ after: names });

describe('nothing is found', () => {
  it.each<[string, UnlinkedStep[]]>([
    ['in a sequence', [step('a'), step('b', after('a')), step('c', after('b'))]],
    ['in a fork and a join of all', [step('a'), step('b'), step('c', after('a', 'b'))]],
    ['in a race of two', [step('a'), step('b'), step('c', { any: ['a', 'b'] })]],
    [
      'where a join of all waits for both sides of a race',
      [step('a'), step('b'), step('first', { any: ['a', 'b'] }), step('both', after('a', 'b', 'first'))],
    ],
    [
      'where a substitute waits for what may be skipped',
      [step('a', { when: MAYBE }), step('b', after('a')), step('c', { any: ['a', 'b'] })],
    ],
    [
      'where another way leads around the first entry',
      [
        step('a'),
        step('x'),
        step('b', { any: ['a', 'x'] }),
        step('y', after('b')),
        step('c', { any: ['a', 'y'] }),
      ],
    ],
  ])('%s', (_, steps) => {
    expect(findings(...steps)).toEqual([]);
  });
});

describe('an entry of a join any that waits for another entry', () => {
  it('is found, since it never wins, with the steps that never run for it', () => {
    const found = theOne(
      step('a'),
      step('b1', after('a')),
      step('b2', after('b1')),
      step('c', { any: ['a', 'b2'] }),
    );
    expect(found.step).toBe('c');
    expect(found.problem).toMatch(
      /'b2'.* never complete first .* 'a' always completes before, so that 'b1', 'b2' can never run/,
    );
    expect(found.fix).toMatch(/take 'b2' out of the after, or give 'a' a when/);
  });

  it('is found where something else needs it, which then runs', () => {
    const found = theOne(
      step('a'),
      step('b', after('a')),
      step('c', { any: ['a', 'b'] }),
      step('d', after('b')),
    );
    expect(found.problem).toMatch(/'b'.* never complete first/);
    expect(found.problem).not.toContain('can never run');
  });

  it('is found where it waits for the first of all others', () => {
    const found = theOne(
      step('a'),
      step('b'),
      step('first', { any: ['a', 'b'] }),
      step('c', { any: ['a', 'b', 'first'] }),
    );
    expect(found.problem).toMatch(
      /'first' in its after can never complete first .* 'a' or 'b' always completes before/,
    );
  });

  it('is found behind joins, whichever entry wins them', () => {
    const found = theOne(
      step('a'),
      step('x', after('a')),
      step('y', after('a')),
      step('b', { any: ['x', 'y'] }),
      step('c', { any: ['a', 'b'] }),
    );
    expect(found.problem).toMatch(/'x', 'y', 'b' can never run/);
  });
});

describe('a step that can start only after all joins that it leads to are won', () => {
  it('is found, since it never runs', () => {
    const found = theOne(
      step('a'),
      step('b', after('a')),
      step('x'),
      step('c', { any: ['b', 'x'] }),
      step('d', { any: ['a', 'c'] }),
    );
    expect(found).toMatchObject({ step: 'b', problem: expect.stringMatching(/^it can never run/) });
  });
});

describe('a pivot in a branch that a join any may cut', () => {
  const race = (pivot: Options, other: Options = {}) => [
    step('start'),
    step('pay', { after: ['start'], pivot: true, ...pivot }),
    step('book', after('pay')),
    step('invoice', { after: ['start'], ...other }),
    step('ship', { any: ['book', 'invoice'] }),
  ];

  it('is found, since nothing could undo it', () => {
    const found = theOne(...race({}));
    expect(found.step).toBe('pay');
    expect(found.problem).toMatch(/pivot.*cancelled by join 'any' of 'ship' if 'invoice' completes first/);
    expect(found.fix).toMatch(/make 'ship' .* the pivot, or name a compensation/);
  });

  it.each<[string, UnlinkedStep[]]>([
    ['it has a compensation', race({ compensate: 'refund' })],
    ['each branch is for a case of its own', race({ when: MAYBE }, { when: MAYBE })],
    ['something else needs it too', [...race({}), step('receipt', after('pay'))]],
    ['it comes before the race', race({ pivot: false }).map((s) => ({ ...s, pivot: s.name === 'start' }))],
    ['it comes after the race', race({ pivot: false }).map((s) => ({ ...s, pivot: s.name === 'ship' }))],
  ])('is not where %s', (_, steps) => {
    expect(findings(...steps)).toEqual([]);
  });

  it('is found where only one of the two has a predicate', () => {
    expect(theOne(...race({ when: MAYBE })).step).toBe('pay');
    expect(theOne(...race({}, { when: MAYBE })).step).toBe('pay');
  });
});

describe('a compensation after a pivot', () => {
  const sequence = (first: Options, pivot: Options, last: Options) => [
    step('a', first),
    step('b', { after: ['a'], pivot: true, ...pivot }),
    step('c', after('b')),
    step('d', { after: ['c'], compensate: 'undo', ...last }),
  ];

  it('is found, since it can never run', () => {
    const found = theOne(...sequence({}, {}, {}));
    expect(found.step).toBe('d');
    expect(found.problem).toMatch(
      /compensation 'undo' can never run, because nothing is compensated after the pivot 'b'/,
    );
    expect(found.fix).toMatch(/remove compensate.*or make the pivot or a step after it a savepoint/);
  });

  it('is found in spite of a savepoint before the pivot, which does not apply any more', () => {
    expect(theOne(...sequence({ savepoint: { attempts: 2 } }, {}, {})).step).toBe('d');
  });

  const steps = sequence({}, {}, {});
  const withSavepoint = (name: string) =>
    steps.map((one) => (one.name === name ? { ...one, savepoint: { attempts: 2 } } : one));
  it.each<[string, UnlinkedStep[]]>([
    ['of the pivot itself', sequence({}, { compensate: 'undo' }, { compensate: undefined })],
    ['where the pivot may be skipped', sequence({}, { when: MAYBE }, {})],
    ['where the pivot is a savepoint too', withSavepoint('b')],
    ['where a savepoint comes after the pivot', withSavepoint('c')],
    ['of a step beside the pivot', [...sequence({}, {}, { after: ['a'] }), step('e', after('c'))]],
    ['in a branch that may lose', [...steps, step('e', after('c')), step('f', { any: ['d', 'e'] })]],
    [
      'where a join any may lead around the pivot',
      [...sequence({}, { compensate: 'unpay' }, { any: ['b', 'x'] }), step('x')].map((one) =>
        one.name === 'd' ? step('d', { any: ['c', 'x'], compensate: 'undo' }) : one,
      ),
    ],
    [
      'where the savepoint stands beside the pivot',
      [...sequence({}, {}, { after: ['c', 's'] }), step('s', { savepoint: { attempts: 2 } })],
    ],
  ])('is not %s', (_, wanted) => {
    expect(findings(...wanted)).toEqual([]);
  });
});

describe('a savepoint', () => {
  const savepoint = { attempts: 2 };

  it('after which nothing comes is found, since nothing can return to it', () => {
    const found = theOne(step('a'), step('b', { after: ['a'], savepoint }));
    expect(found).toMatchObject({ step: 'b', problem: expect.stringMatching(/no later step can fail/) });
  });

  it('is not found before a pivot, to whose own failure it applies', () => {
    expect(
      findings(step('a', { savepoint }), step('b', { after: ['a'], pivot: true }), step('c', after('b'))),
    ).toEqual([]);
  });
});

describe('whatever the graph', () => {
  /** Edges from earlier to later steps, each at random a join any, a predicate, a pivot. */
  const graphs = (most: number) =>
    fc
      .array(
        fc.record({
          edges: fc.array(fc.nat(), { maxLength: 3 }),
          any: fc.boolean(),
          when: fc.boolean(),
          pivot: fc.boolean(),
          compensate: fc.boolean(),
        }),
        { minLength: 1, maxLength: most },
      )
      .map((steps) =>
        graphOf(
          steps.map(({ edges, any, when, pivot, compensate }, index) => {
            const names = [...new Set(index === 0 ? [] : edges.map((edge) => `s${edge % index}`))];
            return step(`s${index}`, {
              after: names,
              join: any && names.length > 1 ? 'any' : 'all',
              when: when ? MAYBE : undefined,
              pivot,
              compensate: compensate ? 'undo' : undefined,
            });
          }),
        ),
      );

  it('what is said never to win or to run never does; all else may', () => {
    fc.assert(
      fc.property(graphs(6), (graph) => {
        const { started, wins } = allRunsOf(graph);
        const all = analyzeGraph(graph);
        const said = all.filter(({ problem }) => problem.includes('can never complete first'));
        const neverWin = said.flatMap(({ step: join, problem }) =>
          problem
            .split(' in its after')[0]!
            .match(/s\d+/g)!
            .map((entry) => `${join}<${entry}`),
        );
        const neverRun = all.flatMap(({ step: name, problem }) => {
          if (problem.startsWith('it can never run')) return [name];
          return problem.split('so that ')[1]?.match(/s\d+/g) ?? [];
        });
        for (const win of neverWin) expect(wins).not.toContain(win);
        for (const name of neverRun) expect(started).not.toContain(name);
        // And the other way round, as long as nothing may be skipped: every other entry wins and step runs in
        // some run.
        if (said.length > 0 || [...graph.steps.values()].some(({ when }) => when)) return;
        if (neverRun.length === 0) expect(started).toEqual(new Set(graph.steps.keys()));
        for (const { name: join, after: entries } of [...graph.steps.values()].filter(isJoinAny)) {
          for (const entry of entries) expect(wins).toContain(`${join}<${entry}`);
        }
      }),
      fuzz(100),
    );
  });

  it('every step that is not cut ends done: a join of all is always satisfied', () => {
    fc.assert(
      fc.property(graphs(6), (graph) => {
        expect(allRunsOf(graph).stuck).toEqual([]);
      }),
      fuzz(100),
    );
  });

  it('a pivot that is said to lose does so in some run', () => {
    fc.assert(
      fc.property(graphs(6), (graph) => {
        const { cutAfterBegun } = allRunsOf(graph);
        for (const { step: pivot, problem } of analyzeGraph(graph)) {
          if (problem.startsWith('it is a pivot')) expect(cutAfterBegun).toContain(pivot);
        }
      }),
      fuzz(100),
    );
  });

  it('a compensation that is said never to run has a completed pivot before it, in every run', () => {
    fc.assert(
      fc.property(graphs(6), (graph) => {
        const { begunWithoutPivot, cutAfterBegun } = allRunsOf(graph);
        for (const { step: name, problem } of analyzeGraph(graph)) {
          if (!problem.startsWith('its compensation')) continue;
          expect(begunWithoutPivot).not.toContain(name);
          expect(cutAfterBegun).not.toContain(name);
        }
      }),
      fuzz(100),
    );
  });
});
