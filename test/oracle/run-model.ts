import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { decide } from '../../libs/saga/src/machine/decide.js';
import type { MachineDecision } from '../../libs/saga/src/machine/plan.js';
import { isSettled, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { problemWithDecision } from './model-attempts.js';
import { awaitedBy } from './model-children.js';
import type { Play } from './model-entries.js';
import { operatorEvent } from './model-operator.js';
import { ModelSaga } from './model-saga.js';
import { waitingForSlots } from './model-slots.js';
import { childEndOf, type Move, picked, type RandomGraph } from './random-graph.js';

/** Far more than any saga of the random ones takes; one that goes in circles is found by it. */
const PATIENCE = 6_000;

/** Plays a saga to its end as an engine would, on a store that keeps what was recorded and loses the rest. */
export function playGraph(saga: RandomGraph, from?: SagaState): Play {
  const player = new GraphPlayer(saga, from);
  player.play();
  return player.model;
}

/** Decides which of the moves of a script are made, and when. */
class GraphPlayer {
  readonly model: ModelSaga;
  private readonly graph: SagaGraph;
  private readonly script: Move[];

  constructor(saga: RandomGraph, from: SagaState | undefined) {
    this.graph = saga.graph;
    this.script = [...saga.moves];
    this.model = new ModelSaga(saga.graph, from, this.script);
  }

  play(): void {
    for (let i = 0; i < PATIENCE; i += 1) {
      if (isSettled(this.model.state.status)) {
        this.model.cancelling = [];
        this.model.slots.freeAll();
        if (!this.operate()) return;
        this.model.look();
        continue;
      }
      if (this.model.giveSignals()) continue;
      const decision = decide(this.graph, this.model.state, this.model.now);
      const known = this.model.signals.received;
      this.model.entries.push({
        type: 'decision',
        decision,
        state: this.model.state,
        now: this.model.now,
        known,
      });
      const wrong = this.wrongWith(decision);
      if (wrong !== undefined) return this.giveUp(wrong);
      this.advance(decision);
    }
    this.giveUp(`no end after ${PATIENCE} moves`);
  }

  private giveUp(why: string): void {
    this.model.entries.push({ type: 'gave no end', why });
  }

  private wrongWith(decision: MachineDecision): string | undefined {
    const isWaiting =
      this.model.cancelling.length > 0 ||
      awaitedBy(this.model.state).length > 0 ||
      this.model.signals.awaitedBy(this.model.state).length > 0 ||
      waitingForSlots(this.model.state).length > 0;
    return problemWithDecision(decision, this.model.state, this.model.inProgress, isWaiting);
  }

  private advance(decision: MachineDecision): void {
    if (decision.settle === 'resumed') return this.model.checkpoint({ type: 'resumed' });
    if (decision.settle) return this.model.checkpoint({ type: 'settled', status: decision.settle });
    // That it has begun is derived anew by those who take over.
    if (decision.events?.[0]?.type === 'begun') return this.model.apply(decision.events[0]);
    if (decision.events?.length) return this.model.checkpoint(...decision.events);
    this.move(decision, this.script.shift() ?? { kind: 'begin', pick: 0, random: 0.5 });
  }

  /** One move, or progress where it is not possible. */
  private move(decision: MachineDecision, move: Move): void {
    const attempt = picked([...this.model.inProgress, ...this.model.cancelling], move);
    const action = picked(
      decision.actions.filter(({ key }) => !this.model.cancelling.some((asked) => asked.key === key)),
      move,
    );
    const late = picked(
      this.model.dropped.filter(({ key }) => !stepState(this.model.state, key).active),
      move,
    );
    if (this.moveOthers(move) || this.mayAskAgain(move)) return;
    if (move.kind === 'crash') this.model.crashes(move);
    else if (move.kind === 'interrupt') this.model.interrupt();
    else if (move.kind === 'cancel') this.model.edit({ type: 'cancelled', reason: 'manual' });
    else if (move.kind === 'retry' && this.model.inProgress.length === 0)
      this.model.edit({ type: 'retried' });
    else if (this.helpsUndoing(move)) return;
    else if (move.kind === 'abort') this.model.edit({ type: 'aborted' });
    else if (move.kind === 'reschedule') this.reschedule(move);
    else if (move.kind === 'end late' && late) this.model.endLate(late);
    else if (!(attempt ?? action)) this.pass(decision, move);
    else if (move.kind === 'wait') this.sleep(decision.wakeAt, move);
    else if (action && (move.kind === 'begin' || !attempt)) this.model.begin(action, move);
    else if (attempt) this.model.settle(attempt, move);
  }

  /** An operator deals with a compensation that failed permanently, while the saga goes on. */
  private helpsUndoing(move: Move): boolean {
    const { steps } = this.model.state;
    const failed = [...steps].flatMap(([key, { status }]) => (status === 'compensation_failed' ? key : []));
    const step = picked(failed, move);
    if (step === undefined || this.model.inProgress.length > 0) return false;
    if (move.kind === 'resolve one') this.model.resolve({ type: 'operator-resolved', step });
    else if (move.kind === 'retry one') this.model.edit({ type: 'retried', step });
    else return false;
    return true;
  }

  /** An operator moves a time: to one that is over, or to another to come. */
  private reschedule(move: Move): void {
    const step = picked([...this.model.state.steps.keys()], move);
    const isBusy = this.model.inProgress.length > 0;
    if (step === undefined || isBusy) return void (this.model.now += 1);
    this.model.edit({ type: 'rescheduled', step, at: this.model.now + (move.pick % 5) * 70 });
  }

  /** The sagas that steps have started advance, or the worker reads their outcomes. */
  private moveOthers(move: Move): boolean {
    const end = childEndOf(move);
    const child = picked(this.model.children.goingOn, move);
    if (end && child) this.model.children.end(child, end, move.pick % 7 > 4, this.model.state);
    else if (move.kind === 'look') return this.model.look();
    else if (move.kind === 'look twice' && this.model.outcomes.length > 0)
      this.model.apply(picked(this.model.outcomes, move)!, true);
    else return this.moveSenders(move);
    return true;
  }

  /** A sender sends a signal. The holder of the saga may receive it later. */
  private moveSenders({ kind, pick }: Move): boolean {
    const isSent =
      kind === 'signal' || kind === 'refuse'
        ? this.model.signals.send(this.model.stored, pick, kind === 'refuse')
        : false;
    if (kind === 'unwanted signal') this.model.signals.sendUnwanted();
    if (kind === 'signal again') return this.sendAgain(pick);
    if (isSent && pick % 4 > 0) this.model.signals.look();
    return isSent || kind === 'unwanted signal';
  }

  private sendAgain(pick: number): boolean {
    const again = this.model.signals.takenBefore(this.model.state, pick, this.model.now);
    if (again) this.model.apply(again, true);
    return again !== undefined;
  }

  /** The store has made the saga due for a slot, which it gets or not, or the worker asks again by itself. */
  private mayAskAgain({ kind, ...move }: Move): boolean {
    const isTime = (kind === 'succeed' || kind === 'wait') && move.pick % 12 === 1;
    if (!isTime || waitingForSlots(this.model.state).length === 0) return false;
    this.model.askAgain({ kind, ...move });
    return true;
  }

  /** Nothing is running, and nothing can start: the saga is released until it is due or another has ended. */
  private pass({ wakeAt }: MachineDecision, move: Move): void {
    const child = picked(this.model.children.goingOn, move);
    const awaited = this.model.signals.awaitedBy(this.model.state);
    const slotless = waitingForSlots(this.model.state);
    if (awaitedBy(this.model.state).length + awaited.length + slotless.length > 0) this.model.record();
    if (this.model.look()) return;
    if (slotless.length > 0 && move.pick % 2 === 0) {
      this.model.slots.freeAll();
      return this.model.askAgain(move);
    }
    const signal = picked(awaited, move);
    if (signal !== undefined && move.pick % 3 !== 1) {
      this.model.signals.sendTo(this.model.stored, signal, {
        isRefusal: move.pick % 5 === 4,
        pick: move.pick,
      });
      this.model.signals.look();
      return;
    }
    if (wakeAt !== undefined && (child === undefined || move.pick % 2 === 0)) this.sleep(wakeAt, move);
    else if (child) {
      // Once the script is over all of them do as they are asked.
      const asked = child.status === 'running' ? 'completed' : 'compensated';
      const end = ([asked, asked, 'completed', 'compensated', 'aborted'] as const)[move.pick % 5]!;
      this.model.children.end(child, end, move.pick % 7 > 4, this.model.state);
    } else this.model.now += 10;
  }

  /** Sometimes a worker comes late. */
  private sleep(wakeAt: number | undefined, { pick }: Move): void {
    this.model.now = Math.max(this.model.now + 10, wakeAt ?? 0) + (pick % 5 === 4 ? 400 : 0);
  }

  /** An operator's move on an idle saga. @returns false if no operator acts */
  private operate(): boolean {
    for (let move = this.script.shift(); move; move = this.script.shift()) {
      const before = this.model.state;
      const event = operatorEvent(this.graph, before, move);
      if (event?.type === 'operator-resolved') this.model.resolve(event);
      else if (event) this.model.edit(event);
      if (this.model.state !== before) return true;
    }
    return false;
  }
}
