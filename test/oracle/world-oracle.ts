import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { isDropped } from './is-dropped.js';
import { ChildOracle, FAMILIAL } from './children-oracle.js';
import { Relations } from './model-state.js';
import type { Violation } from './graph-oracle.js';
import type { ChildEntry } from './model-children.js';
import type { Attempt, Entry, Play } from './model-entries.js';
import type { RandomGraph } from './random-graph.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { HEARD, SignalWitness } from './signals-oracle.js';

/** What really happened under one idempotency key, as the world and not the machine knows it. */
interface Truth {
  readonly node: StepNode;
  readonly key: string;
  readonly round: number;
  /** `maybe`: it may have taken effect, but its result was lost. */
  effect: 'none' | 'maybe' | 'done' | 'undone';
  result?: string;
  started: number;
  /** Its outcome was unknown when it last started. */
  inDoubt: boolean;
  /** An operator asked for it again, whatever it did. */
  answeredFor: boolean;
  /** An operator says that it is done. */
  isManual: boolean;
}

/** By what the world saw of it, whatever the machine believed. */
export const WORLDLY = [
  'changes nothing that ends late',
  'runs nothing again whose result is recorded, nor what was undone, under one idempotency key',
  'runs nothing in a new round before all it did in the last is gone',
  'does not run an at-most-once step again when its outcome is unknown',
  'never runs more items of a fan-out than itemsAtOnce',
  'undoes nothing twice, and nothing that cannot have happened',
  'undoes nothing before all that depends on it is clear',
  'compensates nothing behind a pivot that completed, and nothing while one is in progress',
  'gives a compensation the recorded result, and none where the outcome is unknown',
  'never has two attempts of one number',
  'completed: all that is needed stands, once, and nothing else does',
  'compensated: nothing stands that can be undone',
  'states why it rolled back',
  ...FAMILIAL,
  ...HEARD,
] as const;

export function worldViolationOf({ graph }: RandomGraph, play: Play): Violation | undefined {
  return new WorldOracle(new Relations(graph), play).violation();
}

class WorldOracle {
  private readonly truths = new Map<string, Truth>();
  /** Where a worker was lost that may have been at any of what was due. */
  private readonly suspected = new Set<string>();
  private readonly numbers = new Set<string>();
  private inProgress: Attempt[] = [];
  /** Effects as they were when the saga was last recorded. */
  private recorded = new Map<string, Pick<Truth, 'effect' | 'result'>>();
  private readonly children: ChildOracle;
  private readonly signals = new SignalWitness();

  constructor(
    private readonly relations: Relations,
    private readonly play: Play,
  ) {
    this.children = new ChildOracle(relations);
  }

  violation(): Violation | undefined {
    for (const [at, entry] of this.play.entries.entries()) {
      const wrong = this.children.read(entry) ?? this.signals.read(entry) ?? this.read(entry);
      if (wrong) return { promise: wrong[0], what: wrong[1], at };
    }
    const wrong = this.inTheEnd(this.play.end);
    return wrong && { promise: wrong[0], what: wrong[1], at: this.play.entries.length };
  }

  private read(entry: Entry): [string, string] | undefined {
    if (entry.type === 'started') return this.started(entry);
    if (entry.type === 'took effect') this.ended(entry);
    if (entry.type === 'completed manually') this.completedManually(entry);
    if (entry.type === 'recorded') this.record();
    if (entry.type === 'crashed') this.forget();
    if (entry.type === 'child') this.childEnded(entry);
    if (entry.type !== 'event') return undefined;
    const { event, before, after, late } = entry;
    if (late && before !== after) return [WORLDLY[0], JSON.stringify(event)];
    if (event.type === 'interrupted' || event.type === 'taken-over') this.inProgress = [];
    if (event.type === 'taken-over') {
      // As the machine sees it; that it suspects enough is seen by what it leaves behind in the end.
      for (const [key, { attempts, unknown }] of after.steps) {
        const { round } = stepState(after, this.relations.node(key).name);
        const known = stepState(before, key);
        if (attempts > known.attempts || (unknown && !known.unknown)) this.suspected.add(`${key}~${round}`);
      }
    }
    if (event.type === 'settled' && before !== after) {
      const wrong = this.inTheEnd(after);
      if (wrong) return wrong;
    }
    if (event.type === 'retried') for (const truth of this.truths.values()) truth.answeredFor = true;
    if (after.status === 'compensating' && after.failure === undefined)
      return [WORLDLY[12], `no failure after ${event.type}`];
    const wasTurning = before.status === 'compensating' && before.rollbackTo === undefined;
    if (wasTurning && after.failure !== before.failure && entry.event.type !== 'aborted')
      return [WORLDLY[12], `another failure after ${event.type}`];
    return undefined;
  }

  private record(): void {
    this.recorded = new Map([...this.truths].map(([id, { effect, result }]) => [id, { effect, result }]));
  }

  /** Forgets effects that were not recorded. Those of a transaction are rolled back. */
  private forget(): void {
    for (const [id, truth] of this.truths) {
      const known = this.recorded.get(id) ?? { effect: 'none', result: undefined };
      // The outcome of another saga stays. The outcome of the step's own compensation is unknown.
      if (truth.node.kind === 'sub-saga') {
        if (truth.effect === 'undone' && known.effect !== 'undone' && truth.node.compensate)
          truth.effect = 'done';
        continue;
      }
      if (truth.effect === 'done' && known.effect !== 'done' && !truth.node.transactional) {
        Object.assign(truth, { effect: 'maybe', result: undefined });
      } else if (truth.effect !== 'maybe') {
        Object.assign(truth, known);
      }
    }
  }

  private truth(key: string, round: number): Truth {
    const id = `${key}~${round}`;
    let truth = this.truths.get(id);
    if (!truth) {
      const node = this.relations.node(key);
      truth = {
        ...{ node, key, round, effect: 'none', started: 0 },
        inDoubt: false,
        answeredFor: false,
        isManual: false,
      };
      this.truths.set(id, truth);
    }
    return truth;
  }

  private started({ attempt, after }: Extract<Entry, { type: 'started' }>): [string, string] | undefined {
    const { kind, node, key, round } = attempt;
    const truth = this.truth(key, round);
    const text = `${kind} ${key} in round ${round}, which is ${truth.effect}`;
    const beside = this.inProgress.filter((other) => other.node === node);
    if (beside.length >= (node.forEach ? node.itemsAtOnce : 1)) return [WORLDLY[4], text];
    if (beside.some((other) => other.key === key)) return [WORLDLY[4], `${text}, and in progress`];
    this.inProgress.push(attempt);
    const { attempts, compensationAttempts } = stepState(after, key);
    const number = kind === 'compensate' ? compensationAttempts : attempts;
    const numbered = `${kind} ${key} in round ${round}: ${number}`;
    const isCalled = kind !== 'probe' && kind !== 'undo-child';
    if (isCalled && this.numbers.has(numbered)) return [WORLDLY[9], numbered];
    this.numbers.add(numbered);
    if (kind === 'compensate' || kind === 'undo-child') return this.undoing(attempt, truth, after);
    truth.started += 1;
    if (kind === 'run') truth.inDoubt = truth.effect === 'maybe';
    if (truth.effect === 'done' || truth.effect === 'undone') return [WORLDLY[1], text];
    if (kind === 'run' && !node.idempotent && truth.effect === 'maybe' && !truth.answeredFor)
      return [WORLDLY[3], text];
    const before = this.all(node).find((one) => one.round < round && this.stands(one));
    return before && [WORLDLY[2], `${text}; ${before.key} in round ${before.round} is ${before.effect}`];
  }

  private undoing(
    { kind, node, key, round }: Attempt,
    truth: Truth,
    after: SagaState,
  ): [string, string] | undefined {
    const { effect, started, result } = truth;
    const text = `${key} in round ${round}, which is ${effect}`;
    const suspect = this.suspected.has(`${key}~${round}`) && !node.transactional && node.kind !== 'sub-saga';
    // To ask another saga again changes nothing.
    const isAskedAgain = kind === 'undo-child' && effect === 'undone';
    const possible = effect === 'done' || effect === 'maybe' || suspect || isAskedAgain;
    const asked = node.compensateOnFailure && (started > 0 || this.suspected.has(`${key}~${round}`));
    if (!canBeUndone(truth) || !(possible || asked) || (effect === 'undone' && !suspect && !isAskedAgain))
      return [WORLDLY[5], text];
    const pivot = this.pivotThatForbids(node, after);
    if (pivot !== undefined) return [WORLDLY[7], `${text}, and ${pivot} is not`];
    const expected = effect === 'done' || isAskedAgain ? result : undefined;
    const given = stepState(after, key).result;
    if (given !== expected) return [WORLDLY[8], `${text}: ${given}, not ${expected}`];
    const ahead = [...this.relations.descendants(node.name)].find((name) => this.isAhead(name, node, after));
    return ahead === undefined ? undefined : [WORLDLY[6], `${text}, before ${ahead}`];
  }

  /**
   * As far as the saga rolls back: one that was done, or is in progress, and stays. What lost a join any is
   * another thing.
   */
  private pivotThatForbids({ name }: StepNode, state: SagaState): string | undefined {
    if (state.status !== 'compensating' || isDropped(stepState(state, name))) return undefined;
    const region = state.rollbackTo && this.relations.descendants(state.rollbackTo);
    const stays = this.relations.nodes.find((node) => {
      if (!node.pivot || (region && !region.has(node.name))) return false;
      if (this.inProgress.some((attempt) => attempt.node === node && attempt.kind !== 'compensate'))
        return true;
      if (node.compensate !== undefined || node.kind === 'sub-saga') return false;
      return this.all(node).some(({ effect }) => effect === 'done');
    });
    return stays?.name;
  }

  /** Whether it is still completed, or in progress, while a step that it depends on is compensated. */
  private isAhead(name: string, undone: StepNode, state: SagaState): boolean {
    const node = this.relations.node(name);
    // A join any does not depend on those that lost it, nor a step on an optional one that failed.
    const isLoser = isDropped(stepState(state, undone.name));
    if (isLoser && !isDropped(stepState(state, name))) return false;
    if (isLoser && !this.reachesThroughCut(undone.name, name, state)) return false;
    const round = stepState(state, name).round;
    const standing = this.all(node).some((one) => one.round === round && this.stands(one));
    const isInProgress = this.inProgress.some((attempt) => attempt.node === node);
    return standing || isInProgress || this.children.isGoingOn(name);
  }

  private reachesThroughCut(from: string, to: string, state: SagaState): boolean {
    const next = this.relations.dependents(from).filter((name) => isDropped(stepState(state, name)));
    return next.includes(to) || next.some((name) => this.reachesThroughCut(name, to, state));
  }

  private ended({ attempt, effect, result }: Extract<Entry, { type: 'took effect' }>): void {
    this.inProgress = this.inProgress.filter((other) => other.key !== attempt.key);
    const truth = this.truth(attempt.key, attempt.round);
    if (attempt.kind === 'compensate' || attempt.kind === 'undo-child') {
      if (effect === 'done') truth.effect = 'undone';
      return;
    }
    truth.started += attempt.kind === 'run' && effect === 'none' && truth.started === 0 ? 1 : 0;
    if (effect === 'done') Object.assign(truth, { effect, result });
    else if (effect === 'maybe') truth.effect = 'maybe';
    // That it did not happen after all is known of the one attempt that an at-most-once step has; if an
    // operator
    // had it tried again, nothing new is known of the attempt before.
    else if (attempt.kind === 'probe' && !truth.inDoubt) truth.effect = 'none';
  }

  /** A step comes to what its saga comes to; one without a compensation of its own is undone with it. */
  private childEnded({ what, child: { step, round, status, result } }: ChildEntry): void {
    if (what !== 'ended') return;
    const truth = this.truth(step, round);
    if (status === 'completed') Object.assign(truth, { effect: 'done', result, isManual: false });
    if (status === 'compensated' && truth.effect === 'done' && truth.node.compensate === undefined)
      truth.effect = 'undone';
  }

  private completedManually({ key, round, undone }: Extract<Entry, { type: 'completed manually' }>): void {
    const truth = this.truth(key, round);
    if (undone) truth.effect = 'undone';
    else Object.assign(truth, { effect: 'done', result: '"manual"', isManual: true });
  }

  private all(node: StepNode): Truth[] {
    return [...this.truths.values()].filter((one) => one.node === node);
  }

  private stands(truth: Truth): boolean {
    return canBeUndone(truth) && (truth.effect === 'done' || truth.effect === 'maybe');
  }

  private inTheEnd(end: SagaState): [string, string] | undefined {
    const standing = [...this.truths.values()].filter((one) => this.stands(one));
    const text = ({ key, round, effect }: Truth) => `${key} in round ${round} is ${effect}`;
    if (end.status === 'compensated') {
      const passed = [...this.truths.values()].find((one) => one.node.pivot && one.effect === 'done');
      if (passed) return [WORLDLY[7], text(passed)];
      return standing[0] && [WORLDLY[11], text(standing[0])];
    }
    if (end.status !== 'completed') return undefined;
    if (end.failure !== undefined) return [WORLDLY[10], 'with a failure'];
    for (const node of this.relations.nodes) {
      const is = stepState(end, node.name);
      const { round, status } = is;
      const needed = !isDropped(is) && status !== 'skipped';
      const left = standing.find((one) => one.node === node && !(needed && one.round === round));
      if (left) return [WORLDLY[10], `${text(left)}, and not needed`];
      if (!needed) continue;
      if (status !== 'completed') return [WORLDLY[10], `${node.name} is ${status}`];
      const { items } = stepState(end, node.name);
      const keys = items?.map((_, index) => `${node.name}[${index}]`) ?? [node.name];
      const missing = keys.find((key) => this.truth(key, round).effect !== 'done');
      if (missing !== undefined) return [WORLDLY[10], text(this.truth(missing, round))];
    }
    return undefined;
  }
}

/** By its compensation; a saga that a step started by its own. */
function canBeUndone({ node, isManual }: Truth): boolean {
  return node.compensate !== undefined || (node.kind === 'sub-saga' && !isManual);
}
