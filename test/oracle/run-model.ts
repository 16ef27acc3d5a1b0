import type { SagaGraph, StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { type Action, decide, type Decision } from '../../libs/saga/src/machine/decide.js';
import { evolve } from '../../libs/saga/src/machine/evolve.js';
import { delayOf, waitStarted } from '../graphs/action-answers.js';
import { awaitedBy, type ChildEnded, PlayedChildren } from './model-children.js';
import {
  askWhen,
  failureOf,
  isAsking,
  isUnasked,
  leavesNothing,
  problemWithDecision,
} from './model-attempts.js';
import type { Attempt, Entry, Play } from './model-entries.js';
import { operatorEvent } from './model-operator.js';
import { PlayedSignals } from './model-signals.js';
import { childEndOf, isOfOtherSagas, type Move, picked, type RandomGraph } from './random-graph.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import {
  INITIAL,
  isSettled,
  isTerminal,
  type SagaState,
  stepState,
} from '../../libs/saga/src/machine/saga-state.js';

/** Takeovers without progress after which a saga is stuck. */
const BOUND = 3;
const START = 1_000;
/** Far more than any saga of the random ones takes; one that goes in circles is found by it. */
const PATIENCE = 6_000;

/** Plays a saga to its end as an engine would, on a store that keeps what was recorded and loses the rest. */
export function playGraph(saga: RandomGraph, from?: SagaState): Play {
  const player = new GraphPlayer(saga, from);
  player.play();
  return player;
}

class GraphPlayer implements Play {
  readonly entries: Entry[] = [];
  readonly start: SagaState;
  private readonly graph: SagaGraph;
  private readonly script: Move[];
  private state: SagaState;
  private stored: SagaState;
  private takeovers = 0;
  private now = START;
  private inProgress: Attempt[] = [];
  /** Attempts that the saga no longer waits for. */
  private dropped: Attempt[] = [];
  private readonly children: PlayedChildren;
  private readonly signals: PlayedSignals;
  /** A request to another saga to roll back changes nothing here until it is done. */
  private cancelling: Attempt[] = [];
  /** The outcomes that this worker has received from awaited sagas. */
  private outcomes: ChildEnded[] = [];

  constructor(saga: RandomGraph, from?: SagaState) {
    this.graph = saga.graph;
    this.script = [...saga.moves];
    const { timeout } = saga.graph;
    this.start = from ?? { ...INITIAL, deadline: timeout === undefined ? undefined : START + timeout };
    this.state = this.stored = this.start;
    this.children = new PlayedChildren(this.start, (entry) => this.entries.push(entry));
    this.signals = new PlayedSignals(saga.graph, this.start, (signal) => {
      this.entries.push({ type: 'sent', signal });
    });
  }

  get end(): SagaState {
    return this.state;
  }

  play(): void {
    for (let i = 0; i < PATIENCE; i += 1) {
      if (isSettled(this.state.status)) {
        this.cancelling = [];
        if (!this.operate()) return;
        this.look();
        continue;
      }
      if (this.hear()) continue;
      const decision = decide(this.graph, this.state, this.now);
      const known = this.signals.received;
      this.entries.push({ type: 'decision', decision, state: this.state, now: this.now, known });
      const wrong = this.wrongWith(decision);
      if (wrong !== undefined) return this.giveUp(wrong);
      this.advance(decision);
    }
    this.giveUp(`no end after ${PATIENCE} moves`);
  }

  private giveUp(why: string): void {
    this.entries.push({ type: 'gave no end', why });
  }

  private wrongWith(decision: Decision): string | undefined {
    const isWaiting =
      this.cancelling.length > 0 ||
      awaitedBy(this.state).length > 0 ||
      this.signals.awaitedBy(this.state).length > 0;
    return problemWithDecision(decision, this.state, this.inProgress, isWaiting);
  }

  private advance(decision: Decision): void {
    if (decision.settle === 'resumed') return this.checkpoint({ type: 'resumed' });
    if (decision.settle) return this.checkpoint({ type: 'settled', status: decision.settle });
    if (decision.events?.length) return this.checkpoint(...decision.events);
    this.move(decision, this.script.shift() ?? { kind: 'begin', pick: 0, random: 0.5 });
  }

  /** One move, or progress where it is not possible. */
  private move(decision: Decision, move: Move): void {
    const attempt = picked([...this.inProgress, ...this.cancelling], move);
    const action = picked(
      decision.actions.filter(({ key }) => !this.cancelling.some((asked) => asked.key === key)),
      move,
    );
    const late = picked(
      this.dropped.filter(({ key }) => !stepState(this.state, key).active),
      move,
    );
    if (this.moveOthers(move)) return;
    if (move.kind === 'crash') this.crashes(move);
    else if (move.kind === 'interrupt') this.interrupt();
    else if (move.kind === 'cancel') this.edit({ type: 'cancelled', reason: 'manual' });
    else if (move.kind === 'retry' && this.inProgress.length === 0) this.edit({ type: 'retried' });
    else if (move.kind === 'abort') this.edit({ type: 'aborted' });
    else if (move.kind === 'reschedule') this.reschedule(move);
    else if (move.kind === 'end late' && late) this.endLate(late);
    else if (!(attempt ?? action)) this.pass(decision, move);
    else if (move.kind === 'wait') this.now = Math.max(this.now + 10, decision.wakeAt ?? 0);
    else if (action && (move.kind === 'begin' || !attempt)) this.begin(action, move);
    else if (attempt) this.settle(attempt, move);
  }

  /** An operator moves a time: to one that is over, or to another to come. */
  private reschedule(move: Move): void {
    const step = picked([...this.state.steps.keys()], move);
    const isBusy = this.inProgress.length > 0;
    if (step === undefined || isBusy) return void (this.now += 1);
    this.edit({ type: 'rescheduled', step, at: this.now + (move.pick % 5) * 70 });
  }

  /** The sagas that steps have started advance, or the worker reads their outcomes. */
  private moveOthers(move: Move): boolean {
    const end = childEndOf(move);
    const child = picked(this.children.goingOn, move);
    if (end && child) this.children.end(child, end, move.pick % 7 > 4, this.state);
    else if (move.kind === 'look') return this.look();
    else if (move.kind === 'look twice' && this.outcomes.length > 0)
      this.apply(picked(this.outcomes, move)!, true);
    else return this.moveSenders(move);
    return true;
  }

  /** A sender sends a signal. The holder of the saga may receive it later. */
  private moveSenders({ kind, pick }: Move): boolean {
    const isSent =
      kind === 'signal' || kind === 'refuse' ? this.signals.send(pick, kind === 'refuse') : false;
    if (kind === 'unwanted signal') this.signals.sendUnwanted();
    if (kind === 'signal again') return this.sendAgain(pick);
    if (isSent && pick % 4 > 0) this.signals.look();
    return isSent || kind === 'unwanted signal';
  }

  private sendAgain(pick: number): boolean {
    const again = this.signals.takenBefore(this.state, pick, this.now);
    if (again) this.apply(again, true);
    return again !== undefined;
  }

  /**
   * Steps take what was sent for them. @returns true for a rejection or a confirmation, which is stored before any step that
   * follows starts
   */
  private hear(): boolean {
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
  private hearUnrecorded(): void {
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
  private look(): boolean {
    const events = this.children.outcomes(this.state, this.now);
    this.outcomes.push(...events);
    if (events.length > 0) this.checkpoint(...events);
    return this.signals.look() || events.length > 0;
  }

  /** Nothing is running, and nothing can start: the saga is released until it is due or another has ended. */
  private pass({ wakeAt }: Decision, move: Move): void {
    const child = picked(this.children.goingOn, move);
    const awaited = this.signals.awaitedBy(this.state);
    if (awaitedBy(this.state).length > 0 || awaited.length > 0) this.record();
    if (this.look()) return;
    const signal = picked(awaited, move);
    if (signal !== undefined && move.pick % 3 !== 1) {
      this.signals.sendTo(signal, move.pick % 5 === 4);
      this.signals.look();
      return;
    }
    if (wakeAt !== undefined && (child === undefined || move.pick % 2 === 0)) {
      this.now = Math.max(this.now + 10, wakeAt);
    } else if (child) {
      // Once the script is over all of them do as they are asked.
      const asked = child.status === 'running' ? 'completed' : 'compensated';
      const end = ([asked, asked, 'completed', 'compensated', 'aborted'] as const)[move.pick % 5]!;
      this.children.end(child, end, move.pick % 7 > 4, this.state);
    } else this.now += 10;
  }

  /** Applies events and records them; the next move may be a crash in between, which loses them. */
  private checkpoint(...events: SagaEvent[]): void {
    for (const event of events) this.apply(event);
    if (this.script[0]?.kind === 'crash' && !isSettled(this.stored.status)) {
      this.script.shift();
      this.crash();
    } else {
      this.record();
    }
  }

  private begin(action: Action, move: Move): void {
    const { kind, node, key, index } = action;
    const { round, status, attempts } = stepState(this.state, node.name);
    if (kind === 'await' && node.delayOf && status === 'pending' && attempts === 0)
      return this.checkpoint({ type: 'delay-started', step: key, until: this.now + delayOf(node) });
    if (index === undefined && isUnasked(this.state, action)) {
      const answer = askWhen(node, round);
      if (answer === false) return this.checkpoint({ type: 'condition-false', step: key });
      if (answer === 'throws') return this.failDefinition(node, round);
    }
    if (kind === 'await') return this.checkpoint(waitStarted(node, key, this.now));
    if (kind === 'miss-reply') {
      const missed = { kind: 'compensate', node, key, round } as const;
      return this.checkpoint(failureOf(missed, { ...move, kind: 'timeout' }, this.now, false));
    }
    if (kind === 'expand') {
      const items = node.forEach!({ round } as never).map((item) => JSON.stringify(item));
      return this.checkpoint({ type: 'fan-out-started', step: key, items });
    }
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

  private failDefinition(node: StepNode, round: number): void {
    const attempt: Attempt = { kind: 'run', node, key: node.name, round };
    this.apply({ type: 'step-started', step: node.name });
    this.entries.push({ type: 'took effect', attempt, effect: 'none' });
    this.apply(failureOf(attempt, { kind: 'reject', pick: 0, random: 0 }, this.now, false));
    this.record();
  }

  private settle(attempt: Attempt, move: Move): void {
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

  private endLate(late: Attempt): void {
    // It ended, but its result is lost: the known state does not change.
    this.apply(this.success(late), true);
  }

  /** Sometimes it crashes the next workers as well, until it is stuck. */
  private crashes({ pick }: Move): void {
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
    this.hearUnrecorded();
    this.apply({ type: 'taken-over', count: this.takeovers, bound: BOUND, now: this.now });
    this.look();
    if (this.state.status === 'stuck') this.record();
  }

  /** The worker shuts down and gives the saga back. */
  private interrupt(): void {
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
  }

  private edit(event: SagaEvent): void {
    this.apply(event);
    this.record();
    if (isTerminal(this.state.status)) this.letGo();
  }

  /** An operator's move on an idle saga. @returns false if no operator acts */
  private operate(): boolean {
    for (let move = this.script.shift(); move; move = this.script.shift()) {
      const before = this.state;
      const event = operatorEvent(this.graph, before, move);
      if (event?.type === 'operator-skipped') this.skip(event);
      else if (event) this.edit(event);
      if (this.state !== before) return true;
    }
    return false;
  }

  private skip(event: Extract<SagaEvent, { type: 'operator-skipped' }>): void {
    const before = this.state;
    const key = event.step;
    this.apply(event);
    const undone = stepState(this.state, key).status === 'compensated';
    const { round } = stepState(this.state, key.replace(/\[.*/, ''));
    if (this.state !== before) this.entries.push({ type: 'completed manually', key, round, undone });
    this.record();
  }

  private apply(event: SagaEvent, late = false): void {
    const before = this.state;
    this.state = evolve(this.graph, before, event);
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
  private record(): void {
    this.takeovers = 0;
    const steps = [...this.state.steps].map(([name, step]) => [name, { ...step, active: false }] as const);
    this.stored = { ...this.state, steps: new Map(steps) };
    this.children.store(this.stored);
    this.entries.push({ type: 'recorded' });
  }
}
