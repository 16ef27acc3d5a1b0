import type { SagaGraph, StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { evolve } from '../../libs/saga/src/machine/evolve.js';
import type { Action } from '../../libs/saga/src/machine/plan.js';
import type { EventOf, SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import {
  INITIAL,
  isSettled,
  isTerminal,
  type SagaState,
  stepState,
} from '../../libs/saga/src/machine/saga-state.js';
import { delayOf, waitStarted } from '../graphs/action-answers.js';
import { askWhen, failureOf, isAsking, isUnasked, leavesNothing } from './model-attempts.js';
import { type ChildEnded, PlayedChildren } from './model-children.js';
import type { Attempt, Entry, Play } from './model-entries.js';
import { PlayedSignals } from './model-signals.js';
import { PlayedSlots } from './model-slots.js';
import { isOfOtherSagas, type Move } from './random-graph.js';

/** Takeovers without progress after which a saga is stuck. */
const BOUND = 3;
const START = 1_000;

/**
 * A saga with its worker and its store, as a model: attempts begin, end and are lost, and a crash loses what was not
 * recorded. All that an observer can see is written down.
 */
export class ModelSaga implements Play {
  readonly entries: Entry[] = [];
  readonly start: SagaState;
  state: SagaState;
  /** What a crash leaves. */
  stored: SagaState;
  private takeovers = 0;
  now = START;
  inProgress: Attempt[] = [];
  /** Attempts that the saga no longer waits for. */
  readonly dropped: Attempt[] = [];
  readonly children: PlayedChildren;
  readonly signals: PlayedSignals;
  readonly slots = new PlayedSlots();
  /** A request to another saga to roll back changes nothing here until it is done. */
  cancelling: Attempt[] = [];
  /** The outcomes that this worker has received from awaited sagas. */
  outcomes: ChildEnded[] = [];

  constructor(
    private readonly graph: SagaGraph,
    from: SagaState | undefined,
    /** The moves to come. A crash that comes next loses what a checkpoint would store. */
    private readonly script: Move[],
  ) {
    const { timeout } = graph;
    this.start = from ?? { ...INITIAL, deadline: timeout === undefined ? undefined : START + timeout };
    this.state = this.stored = this.start;
    this.children = new PlayedChildren(this.start, (entry) => this.entries.push(entry));
    this.signals = new PlayedSignals(graph, this.start, (sent) => {
      this.entries.push('number' in sent ? { type: 'sent', signal: sent } : sent);
    });
  }

  get end(): SagaState {
    return this.state;
  }

  /**
   * Steps take what was sent for them. @returns true for a rejection or a confirmation, which is stored before any step that
   * follows starts
   */
  giveSignals(): boolean {
    for (let event = this.nextSignal(); event; event = this.nextSignal()) {
      if (event.type === 'refused' || event.type === 'reply-received') {
        this.checkpoint(event);
        return true;
      }
      this.apply(event);
    }
    return false;
  }

  /** The next worker derives the signals that its predecessor may have used: none after a rejection. */
  private giveUnrecorded(): void {
    const next = () => this.signals.next(this.state, this.now, { withRefusals: false });
    for (let event = next(); event; event = next()) this.apply(event);
  }

  private nextSignal(): SagaEvent | undefined {
    return this.signals.next(this.state, this.now);
  }

  /**
   * A worker reads everything that the saga waits for when it claims the saga or is notified. The results are
   * stored before any step that follows starts. @returns false if nothing is new
   */
  look(): boolean {
    const events = this.children.outcomes(this.state, this.now);
    this.outcomes.push(...events);
    if (events.length > 0) this.checkpoint(...events);
    return this.signals.look() || events.length > 0;
  }

  /** The rate limit of the saga's name gives a time. Sometimes it has no key for the saga, which fails its first step. */
  private askTurn({ key: step, node }: Action, move: Move): void {
    if (move.pick % 12 === 11) {
      // Both are recorded together.
      this.failWithoutCall(node, step, stepState(this.state, step).round);
      return this.checkpoint({ type: 'begun' });
    }
    const wait = [0, 0, 40, 700][move.pick % 4]!;
    this.apply({ type: 'turn-granted', at: this.now + wait });
    // A worker that does not hold a saga until its time records it.
    if (wait > 0 && move.pick % 3 > 0) this.record();
  }

  /** The step has a slot, or waits for one. Sometimes its limit has no key for it, which fails it. */
  private askForSlot(action: Action, move: Move): void {
    const event = this.slots.ask(action, move, this.now);
    if (!event)
      return this.failDefinition(action.node, action.key, stepState(this.state, action.node.name).round);
    this.apply(event);
    // Nothing has happened that has to be recorded, but something else may have.
    if (move.pick % 7 < 2) this.record();
  }

  /** What waits for a slot asks again: the store has called, or the worker has just taken the saga. */
  askAgain(move: Move): void {
    for (const event of this.slots.askAgain(this.state, move, this.now)) this.apply(event);
  }

  /** Applies events and records them; the next move may be a crash in between, which loses them. */
  checkpoint(...events: SagaEvent[]): void {
    for (const event of events) this.apply(event);
    if (this.script[0]?.kind === 'crash' && !isSettled(this.stored.status)) {
      this.script.shift();
      this.crash();
    } else {
      this.record();
    }
  }

  begin(action: Action, move: Move): void {
    const { kind, node, key, index } = action;
    const { round, status, attempts } = stepState(this.state, node.name);
    if (kind === 'await' && node.delayOf && status === 'pending' && attempts === 0)
      return this.checkpoint({ type: 'delay-started', step: key, until: this.now + delayOf(node) });
    if (index === undefined && isUnasked(this.state, action)) {
      const answer = askWhen(node, round);
      if (answer === false) return this.checkpoint({ type: 'condition-false', step: key });
      if (answer === 'throws') return this.failDefinition(node, key, round);
    }
    if (kind === 'await') return this.checkpoint(waitStarted(node, key, this.now));
    if (kind === 'begin') return this.askTurn(action, move);
    if (kind === 'miss-reply') {
      const missed = { kind: 'compensate', node, key, round } as const;
      return this.checkpoint(failureOf(missed, { ...move, kind: 'timeout' }, this.now, false));
    }
    if (kind === 'expand') {
      const items = node.forEach!({ round } as never).map((item) => JSON.stringify(item));
      return this.checkpoint({ type: 'fan-out-started', step: key, items });
    }
    if (this.slots.needs(action)) return this.askForSlot(action, move);
    const before = this.state;
    const started = {
      run: 'step-started',
      compensate: 'compensation-started',
      'undo-child': 'compensation-started',
      probe: 'probe-started',
    } as const;
    const attempt: Attempt = { ...action, round, child: stepState(before, key).child?.id };
    // A request to another saga may be carried out long before its answer arrives.
    if (isAsking(attempt) && move.pick % 2 === 0) this.children.request(attempt, this.state);
    if (kind === 'cancel-child') return void this.cancelling.push(attempt);
    this.apply({ type: started[kind], step: key });
    this.entries.push({ type: 'started', attempt, before, after: this.state });
    this.inProgress.push(attempt);
    if (kind === 'run' && !node.idempotent) this.record();
  }

  private failDefinition(node: StepNode, key: string, round: number): void {
    this.failWithoutCall(node, key, round);
    this.record();
  }

  private failWithoutCall(node: StepNode, key: string, round: number): void {
    const attempt: Attempt = { kind: 'run', node, key, round };
    this.apply({ type: 'step-started', step: key });
    this.entries.push({ type: 'took effect', attempt, effect: 'none' });
    this.apply(failureOf(attempt, { kind: 'reject', pick: 0, random: 0 }, this.now, false));
  }

  settle(attempt: Attempt, move: Move): void {
    this.inProgress = this.inProgress.filter((other) => other !== attempt);
    const { kind } = attempt;
    if (isAsking(attempt)) return this.settleAsked(attempt);
    const goesWell = move.kind === 'succeed' || move.kind === 'begin' || isOfOtherSagas(move);
    const timedOut = move.kind === 'timeout' && kind !== 'compensate' && !leavesNothing(attempt);
    // Of an attempt with a probe: what became of it is asked at once, as part of the attempt.
    const found =
      timedOut && attempt.node.probe ? (['done', 'not done', 'unknown'] as const)[move.pick % 3] : '';
    if (goesWell || found === 'done') {
      const event = this.success(attempt);
      const isAsked = event.type === 'child-started' || event.type === 'compensation-requested';
      this.learn(attempt, isAsked ? 'none' : 'done', event);
      this.apply(event);
    } else {
      const unknown = timedOut && found !== 'not done';
      this.learn(attempt, unknown ? 'maybe' : 'none');
      this.apply(failureOf(attempt, move, this.now, unknown));
    }
    this.checkpoint();
  }

  private settleAsked(attempt: Attempt): void {
    this.cancelling = this.cancelling.filter((other) => other !== attempt);
    const isDone = this.children.request(attempt, this.state);
    if (attempt.kind === 'undo-child') this.learn(attempt, 'none');
    const refused = { kind: 'reject', pick: 0, random: 0 } as const;
    this.apply(isDone ? this.success(attempt) : failureOf(attempt, refused, this.now, false));
    this.checkpoint();
  }

  private learn(attempt: Attempt, effect: 'done' | 'maybe' | 'none', event?: SagaEvent): void {
    const result = event?.type === 'step-completed' ? event.result : undefined;
    this.entries.push({ type: 'took effect', attempt, effect, result });
  }

  private success({ kind, node, key: step, child }: Attempt): SagaEvent {
    if (kind === 'compensate' && node.compensationReply)
      return { type: 'compensation-requested', step, now: this.now };
    if (kind === 'compensate') return { type: 'compensation-completed', step };
    if (kind === 'cancel-child') return { type: 'child-cancelling', step, child: child! };
    if (kind === 'undo-child') return { type: 'child-undoing', step, child: child! };
    if (node.kind === 'sub-saga') return { type: 'child-started', step, child: this.children.make(step) };
    return { type: 'step-completed', step, result: `"${step} ${this.entries.length}"`, now: this.now };
  }

  endLate(late: Attempt): void {
    // It ended, but its result is lost: the known state does not change.
    this.apply(this.success(late), true);
  }

  /** Sometimes it crashes the next workers as well, until it is stuck. */
  crashes({ pick }: Move): void {
    const times = pick % 12 === 0 ? BOUND + 1 : 1;
    for (let i = 0; i < times && !isSettled(this.state.status); i += 1) this.crash();
  }

  /** The worker is gone with all that it did not record; another takes over. */
  private crash(): void {
    this.letGo();
    this.state = this.stored;
    this.entries.push({ type: 'crashed' });
    this.takeovers += 1;
    // The worker that was lost may have been at what had come.
    this.signals.look();
    this.giveUnrecorded();
    this.apply({ type: 'taken-over', count: this.takeovers, bound: BOUND, now: this.now });
    this.look();
    if (this.state.status === 'stuck') this.record();
  }

  /** The worker shuts down and gives the saga back. */
  interrupt(): void {
    this.letGo();
    this.apply({ type: 'interrupted', now: this.now });
    this.record();
    this.look();
  }

  private letGo(): void {
    for (const attempt of this.inProgress) {
      if (!isAsking(attempt) && !leavesNothing(attempt)) this.learn(attempt, 'maybe');
    }
    this.dropped.push(...this.inProgress);
    this.inProgress = [];
    this.cancelling = [];
    this.outcomes = [];
    this.slots.freeAll();
  }

  edit(event: SagaEvent): void {
    this.apply(event);
    this.record();
    if (isTerminal(this.state.status)) this.letGo();
  }

  resolve(event: EventOf<'operator-resolved'>): void {
    const before = this.state;
    const key = event.step;
    this.apply(event);
    const undone = stepState(this.state, key).status === 'compensated';
    const { round } = stepState(this.state, key.replace(/\[.*/, ''));
    if (this.state !== before) this.entries.push({ type: 'completed manually', key, round, undone });
    this.record();
  }

  apply(event: SagaEvent, late = false): void {
    const before = this.state;
    this.state = evolve(this.graph, before, event);
    this.slots.happened(event, this.state);
    this.entries.push({ type: 'event', event, before, after: this.state, late });
    if (event.type === 'reply-received') this.learnReply(event.name, before);
  }

  /** The participant that confirms it has done it. */
  private learnReply(signal: string, before: SagaState): void {
    for (const node of this.graph.steps.values()) {
      const { status } = stepState(this.state, node.name);
      if (node.compensationReply?.signal !== signal || status === stepState(before, node.name).status)
        continue;
      const { round } = stepState(this.state, node.name);
      this.learn({ kind: 'compensate', node, key: node.name, round }, 'done');
    }
  }

  /** The stored state records only the status of attempts in progress. */
  record(): void {
    this.takeovers = 0;
    const steps = [...this.state.steps].map(([name, step]) => [name, { ...step, active: false }] as const);
    this.stored = { ...this.state, steps: new Map(steps) };
    this.children.store(this.stored);
    this.entries.push({ type: 'recorded' });
  }
}
