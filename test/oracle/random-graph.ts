import fc from 'fast-check';
import type { UnlinkedStep } from '../../libs/saga/src/definition/graph/link-steps.js';
import { resolveRetryPolicy } from '../../libs/saga/src/definition/options/retry-policy.js';
import {
  approvalSignal,
  type SagaGraph,
  type StepNode,
} from '../../libs/saga/src/definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../fixtures/graph-of.js';

/** What the world, a worker or an operator may do next. What is not possible then gives way to progress. */
export const MOVES = [
  'begin',
  'succeed',
  'fail',
  'reject',
  'timeout',
  'crash',
  'interrupt',
  'end late',
  'wait',
  'cancel',
  'abort',
  'retry',
  'retry one',
  'resolve one',
  'child completes',
  'child rolls back',
  'child is aborted',
  'look',
  'look twice',
  'signal',
  'refuse',
  'unwanted signal',
  'signal again',
  'undo',
  'reschedule',
] as const;

export interface Move {
  readonly kind: (typeof MOVES)[number];
  /** Chooses among attempts, actions or steps. */
  readonly pick: number;
  /** 0 to 1, for the jitter. */
  readonly random: number;
}

/** The item that the move chooses. Undefined: there are none. */
export function picked<T>(from: readonly T[], { pick }: Move): T | undefined {
  return from[pick % from.length];
}

const CHILD_ENDS: Partial<Record<Move['kind'], 'completed' | 'compensated' | 'aborted'>> = {
  'child completes': 'completed',
  'child rolls back': 'compensated',
  'child is aborted': 'aborted',
};

/** How the move ends a sub-saga. Undefined: it ends none. */
export function childEndOf({ kind }: Move): 'completed' | 'compensated' | 'aborted' | undefined {
  return CHILD_ENDS[kind];
}

/** The move is one of sub-sagas, of senders of signals, or of an operator, or reads what they did. */
export function isOfOtherSagas({ kind }: Move): boolean {
  const isSending = kind === 'refuse' || kind.startsWith('signal');
  return kind in CHILD_ENDS || isSending || kind === 'look' || kind === 'look twice' || kind === 'undo';
}

/** A graph, and a script of what happens to a saga of it. When the script is over, everything succeeds. */
export interface RandomGraph {
  readonly graph: SagaGraph;
  readonly moves: readonly Move[];
}

/** What a predicate says, round by round; the last stands for all later rounds. */
export type Answer = boolean | 'throw';

/** A `when` as data, so that a class can be made that says the same. */
export interface Scripted {
  readonly answers: readonly Answer[];
}

/** A `forEach` as data: how many items there are, round by round. */
export interface Listing {
  readonly counts: readonly number[];
}

const rarely = <T>(weight: number, often: T, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(often) }, { weight: 1, arbitrary: rare });

/** The operators who decide. No quorum needs all of them. */
export const APPROVERS = 4;

const step = fc.record({
  /** How far back in the order of declaration; beyond the first step: none. */
  after: fc.array(fc.oneof({ weight: 5, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(12) }), {
    minLength: 0,
    maxLength: 3,
    size: 'max',
  }),
  join: rarely<'all' | 'any'>(2, 'all', fc.constant('any')),
  attempts: fc.integer({ min: 1, max: 3 }),
  compensationAttempts: fc.integer({ min: 1, max: 3 }),
  compensated: rarely(6, true, fc.constant(false)),
  mode: modes(),
  probe: rarely(3, false, fc.constant(true)),
  compensateOnFailure: rarely(6, false, fc.constant(true)),
  when: rarely<Answer[] | undefined>(5, undefined, fc.array(answer(), { minLength: 1, maxLength: 3 })),
  items: rarely<number[] | undefined>(5, undefined, fc.array(fc.nat(5), { minLength: 1, maxLength: 3 })),
  itemsAtOnce: fc.integer({ min: 1, max: 5 }),
  delay: rarely<number | undefined>(8, undefined, fc.constantFrom(50, 1_000)),
  savepoint: rarely<number | undefined>(5, undefined, fc.integer({ min: 2, max: 3 })),
  pivot: rarely(14, false, fc.constant(true)),
  isSubSaga: rarely(7, false, fc.constant(true)),
  waitsFor: rarely<'x' | 'y' | 'an approval' | undefined>(
    4,
    undefined,
    fc.constantFrom('x' as const, 'x' as const, 'y' as const, 'an approval' as const),
  ),
  /** How many operators have to approve, if it is an approval. */
  quorum: rarely<number | undefined>(1, undefined, fc.integer({ min: 2, max: APPROVERS - 1 })),
  waitTimeout: rarely<number | undefined>(1, undefined, fc.constantFrom(80, 700)),
  optional: rarely(5, false, fc.constant(true)),
  reply: rarely<number | undefined>(4, undefined, fc.constantFrom(0, 90, 600)),
});

function modes(): fc.Arbitrary<'plain' | 'at most once' | 'transactional'> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant('plain' as const) },
    { weight: 1, arbitrary: fc.constant('at most once' as const) },
    { weight: 1, arbitrary: fc.constant('transactional' as const) },
  );
}

function answer(): fc.Arbitrary<Answer> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.boolean() },
    { weight: 1, arbitrary: fc.constant('throw' as const) },
  );
}

type RandomStep = typeof step extends fc.Arbitrary<infer T> ? T : never;

const graphs = fc
  .record({
    steps: fc.oneof(
      { weight: 5, arbitrary: fc.array(step, { minLength: 1, maxLength: 7, size: 'max' }) },
      { weight: 3, arbitrary: fc.array(step, { minLength: 1, maxLength: 14, size: 'max' }) },
      { weight: 1, arbitrary: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }) },
    ),
    onFailure: rarely<SagaGraph['onFailure']>(7, 'compensate', fc.constant('suspend')),
    timeout: rarely<number | undefined>(5, undefined, fc.integer({ min: 10, max: 3_000 })),
    /** The window of the rate limit of this saga. */
    per: rarely<number | undefined>(4, undefined, fc.constantFrom(100, 3_000)),
  })
  .map(({ steps, per, ...saga }): SagaGraph => ({
    ...graphOf(...steps.map(toNode)),
    ...saga,
    ...(per !== undefined && { rateLimit: { count: 1, per } }),
  }));

/** The options of a step that starts another saga, or waits. It has no others. */
const PLAIN = { mode: 'plain', probe: false, compensateOnFailure: false, items: undefined } as const;

function toNode(given: RandomStep, index: number): UnlinkedStep {
  const kind = kindOf(given);
  // Of a sub-saga's step the method only gives the input of the other saga.
  const compensated = kind === 'sub-saga' ? given.mode !== 'plain' : given.compensated;
  const random = kind === 'step' ? given : { ...given, ...PLAIN, compensated };
  const name = `s${index}`;
  const after = random.after.map((back) => index - 1 - back).filter((target) => target >= 0);
  const names = [...new Set(after)].map((target) => `s${target}`);
  return stepOf(name, {
    kind,
    wait: waitOf(kind, name, given),
    after: names,
    join: names.length > 1 ? random.join : 'all',
    compensate: random.compensated ? `undo ${name}` : undefined,
    retry: resolveRetryPolicy({ attempts: random.attempts, delay: 100 }),
    compensationRetry: resolveRetryPolicy({ attempts: random.compensationAttempts, delay: 100 }),
    compensationReply:
      kind === 'step' && random.compensated && !random.items ? replyOf(name, random.reply) : undefined,
    transactional: random.mode === 'transactional',
    idempotent: random.mode !== 'at most once',
    compensateOnFailure: random.compensated && random.compensateOnFailure,
    probe: random.probe && random.mode !== 'transactional' ? `probe ${name}` : undefined,
    when: random.when && scripted(random.when),
    forEach: random.items && listing(random.items),
    itemsAtOnce: random.itemsAtOnce,
    // One of the two delays is a function.
    delay: random.delay === 50 ? random.delay : undefined,
    delayOf: random.delay === 1_000 ? () => 1_000 : undefined,
    savepoint: random.savepoint === undefined ? undefined : { attempts: random.savepoint },
    // The definition refuses a fan-out as the pivot.
    pivot: random.pivot && random.items === undefined,
    // Nor may the pivot be optional.
    optional: random.optional && !(random.pivot && random.items === undefined),
  });
}

/** 0: without a time limit. */
function replyOf(step: string, timeout: number | undefined): StepNode['compensationReply'] {
  if (timeout === undefined) return undefined;
  return { signal: `reply ${step}`, ...(timeout > 0 && { timeout }) };
}

function kindOf({ isSubSaga, waitsFor }: RandomStep): StepNode['kind'] {
  if (isSubSaga) return 'sub-saga';
  if (waitsFor === undefined) return 'step';
  return waitsFor === 'an approval' ? 'approval' : 'signal';
}

function waitOf(
  kind: StepNode['kind'],
  name: string,
  { waitsFor, waitTimeout, quorum }: RandomStep,
): StepNode['wait'] {
  if (kind !== 'signal' && kind !== 'approval') return undefined;
  const timeout =
    waitTimeout === undefined ? {} : waitTimeout === 80 ? { timeout: 80 } : { timeoutOf: () => waitTimeout };
  if (kind === 'signal') return { signal: waitsFor!, ...timeout };
  return { signal: approvalSignal(name), ...timeout, ...(quorum !== undefined && { quorum }) };
}

/** Depends on the round alone, as a predicate has to on its context. */
export function scripted(answers: readonly Answer[]): NonNullable<StepNode['when']> & Scripted {
  const predicate: NonNullable<StepNode['when']> = ({ round }) => {
    const answer = answers[Math.min(round, answers.length) - 1]!;
    if (answer === 'throw') throw new Error('the predicate throws');
    return answer;
  };
  return Object.assign(predicate, { answers, toString: () => answers.join('/') });
}

export function listing(counts: readonly number[]): NonNullable<StepNode['forEach']> & Listing {
  const items: NonNullable<StepNode['forEach']> = ({ round }) =>
    Array.from({ length: counts[Math.min(round, counts.length) - 1]! }, (_, index) => `item ${index}`);
  return Object.assign(items, { counts, toString: () => counts.join('/') });
}

const ROUGH: Record<Move['kind'], number> = {
  begin: 45,
  succeed: 30,
  fail: 9,
  reject: 2,
  timeout: 6,
  crash: 7,
  interrupt: 4,
  'end late': 4,
  wait: 6,
  cancel: 1,
  abort: 1,
  retry: 4,
  'retry one': 3,
  'resolve one': 3,
  'child completes': 10,
  'child rolls back': 4,
  'child is aborted': 3,
  look: 8,
  'look twice': 2,
  signal: 14,
  refuse: 3,
  'unwanted signal': 1,
  'signal again': 3,
  undo: 1,
  reschedule: 2,
};
const CALM: Record<Move['kind'], number> = {
  ...ROUGH,
  begin: 120,
  succeed: 120,
  fail: 4,
  timeout: 3,
  reject: 3,
  crash: 2,
  interrupt: 2,
  cancel: 0.2,
  abort: 0.05,
  'child completes': 30,
  look: 20,
  signal: 60,
  refuse: 1,
};

function script(weights: Record<Move['kind'], number>): fc.Arbitrary<Move[]> {
  const move = fc.record({
    kind: fc.oneof(
      ...MOVES.map((kind) => ({ weight: Math.ceil(weights[kind] * 20), arbitrary: fc.constant(kind) })),
    ),
    pick: fc.nat(997),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  return fc.array(move, { maxLength: 150, size: 'max' });
}

/** Which steps, in their order, have a limit over all sagas. Drawn last, so that the rest of a seed is as it was. */
const limits = rarely<readonly ('none' | 'plain' | 'keyed')[]>(
  1,
  [],
  fc.array(fc.constantFrom('none' as const, 'none' as const, 'plain' as const, 'keyed' as const), {
    minLength: 1,
    maxLength: 14,
    size: 'max',
  }),
);

function withLimits(graph: SagaGraph, given: readonly ('none' | 'plain' | 'keyed')[]): SagaGraph {
  if (given.length === 0) return graph;
  const steps = [...graph.steps.values()].map((node, index): StepNode => {
    const limit = given[index % given.length]!;
    if (limit === 'none' || node.kind !== 'step') return node;
    return {
      ...node,
      limit: { count: 2, ...(limit === 'keyed' && { key: () => 'a' }) },
    };
  });
  return { ...graph, steps: new Map(steps.map((node) => [node.name, node])) };
}

export const randomGraphs: fc.Arbitrary<RandomGraph> = fc
  .tuple(graphs, fc.oneof(script(ROUGH), script(CALM)), limits)
  .map(([graph, moves, limited]) => ({ graph: withLimits(graph, limited), moves }));

/** One line per step, with what is not the default. */
export function describeGraph(graph: SagaGraph): string[] {
  const saga = [
    graph.timeout === undefined ? '' : `timeout ${graph.timeout}`,
    graph.onFailure === 'suspend' ? 'on failure suspend' : '',
    graph.rateLimit ? `one in ${graph.rateLimit.per} begins` : '',
  ].filter(Boolean);
  return [...saga, ...[...graph.steps.values()].map(describeNode)];
}

function describeNode(node: StepNode): string {
  const { retry, compensationRetry, after } = node;
  return [
    `${node.name}: after [${after.join(' ')}]`,
    node.kind === 'sub-saga' && 'sub-saga',
    node.wait && `waits for ${node.wait.signal}, ${node.wait.timeout ?? 'for ever'}`,
    node.wait?.quorum && `${node.wait.quorum} approve`,
    node.join === 'any' && 'join any',
    node.when && `when ${node.when.toString()}`,
    node.forEach && `items ${node.forEach.toString()}, ${node.itemsAtOnce} at once`,
    node.limit && `a slot${node.limit.key ? ' of its key' : ''}`,
    node.delay !== undefined && `delay ${node.delay}`,
    node.delayOf && 'a computed delay',
    node.savepoint && `savepoint ${node.savepoint.attempts}`,
    node.pivot && 'pivot',
    node.optional && 'optional',
    !node.idempotent && 'at most once',
    node.transactional && 'transactional',
    node.probe && 'probe',
    node.heartbeat && `heartbeat ${node.heartbeat}`,
    node.compensateOnFailure && 'compensate on failure',
    node.compensationReply && `reply within ${node.compensationReply.timeout ?? 'any time'}`,
    node.compensate === undefined ? 'no compensation' : `${compensationRetry.attempts} compensation attempts`,
    `${retry.attempts} attempts`,
  ]
    .filter(Boolean)
    .join(', ');
}
