import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import { type DecidedEntry, PlayedApprovals } from './model-approvals.js';
import { isReply, stepAwaiting } from '../../libs/saga/src/machine/waits.js';

/** A signal to the played saga, as it is stored. */
export interface SentSignal {
  readonly name: string;
  readonly number: number;
  /** JSON text. */
  readonly payload: string;
  /** An approver rejected the request. */
  readonly isRefusal: boolean;
}

/** A name that no step waits for. */
const UNWANTED = 'z';

/**
 * The signals of one saga. All sent signals are stored. The holder of the saga has received the first `known`
 * of them.
 */
export class PlayedSignals {
  private readonly sent: SentSignal[] = [];
  private known = 0;
  /** A play that goes on from a state has others before its own. */
  private readonly before: number;
  private readonly names: readonly string[];
  private readonly approvals: PlayedApprovals;

  constructor(
    private readonly graph: SagaGraph,
    { lastTakenSignals = {} }: SagaState,
    private readonly note: (sent: SentSignal | DecidedEntry) => void,
  ) {
    this.approvals = new PlayedApprovals(graph, note);
    this.before = Math.max(0, ...Object.values(lastTakenSignals));
    const nodes = [...graph.steps.values()];
    this.names = [...new Set(nodes.flatMap((node) => (node.wait ?? node.compensationReply)?.signal ?? []))];
  }

  /** Those that the holder knows of. */
  get received(): readonly SentSignal[] {
    return this.sent.slice(0, this.known);
  }

  /** Sends a signal that a step waits for, sooner or later. @returns false if no step waits for any */
  send(stored: SagaState, pick: number, isRefusal: boolean): boolean {
    const names = isRefusal ? this.names.filter((name) => isApproval(name)) : this.names;
    const name = names[pick % names.length];
    if (name !== undefined) this.sendTo(stored, name, { isRefusal, pick });
    return name !== undefined;
  }

  sendUnwanted(): void {
    this.store(UNWANTED, `"${UNWANTED}"`, false);
  }

  /** A decision on a step with a quorum is sent once enough operators have made it. */
  sendTo(
    state: SagaState,
    name: string,
    { isRefusal, pick }: { readonly isRefusal: boolean; readonly pick: number },
  ): void {
    const node = [...this.graph.steps.values()].find(({ wait }) => wait?.signal === name);
    if (node?.wait?.quorum === undefined)
      return this.store(name, `"${name} ${this.sent.length}"`, isRefusal && isApproval(name));
    const { lastTakenSignals = {} } = state;
    const signals = this.sent
      .filter((one) => one.number > (lastTakenSignals[one.name] ?? 0))
      .map(({ isRefusal: _, ...one }) => ({ ...one, messageId: '', at: 0 }));
    const decision = { by: this.approvals.next(pick), approved: !isRefusal };
    const payload = this.approvals.decide({ state, signals }, node.name, decision);
    if (payload !== undefined) this.store(name, payload, isRefusal);
  }

  private store(name: string, payload: string, isRefusal: boolean): void {
    const signal = { name, number: this.before + this.sent.length + 1, payload, isRefusal };
    this.sent.push(signal);
    this.note(signal);
  }

  /** The holder of the saga, or a claim, reads the stored signals. @returns true if there are new ones */
  look(): boolean {
    const isNew = this.known < this.sent.length;
    this.known = this.sent.length;
    return isNew;
  }

  /** The next of those known that a step of this state waits for. */
  next(state: SagaState, now: number, { withRefusals = true } = {}): SagaEvent | undefined {
    const { lastTakenSignals = {} } = state;
    const next = this.received.find(
      ({ name, number, isRefusal }) =>
        (withRefusals || !isRefusal) &&
        number > (lastTakenSignals[name] ?? 0) &&
        stepAwaiting(this.graph, state, name) !== undefined,
    );
    if (next === undefined) return undefined;
    const { name, number } = next;
    const taker = stepAwaiting(this.graph, state, name)!;
    return isReply(state, taker) ? { type: 'reply-received', name, number } : eventOf(next, now);
  }

  /** One that was taken already, or another before it. */
  takenBefore({ lastTakenSignals = {} }: SagaState, pick: number, now: number): SagaEvent | undefined {
    const taken = this.sent.filter(({ name, number }) => number <= (lastTakenSignals[name] ?? 0));
    const again = taken[pick % taken.length];
    return again && eventOf(again, now);
  }

  /** The names of those that this state waits for. */
  awaitedBy({ status, steps }: SagaState): string[] {
    if (status !== 'running' && status !== 'compensating') return [];
    return [...steps.values()].flatMap((step) => {
      const { wait, pruned, active } = step;
      if (wait === undefined) return [];
      if (step.status === 'compensating') return active ? [] : [wait.signal];
      const isOpen = status === 'running' && step.status === 'waiting' && !pruned;
      return isOpen && wait.takenSignal === undefined ? [wait.signal] : [];
    });
  }
}

function isApproval(name: string): boolean {
  return name.startsWith('approval:');
}

function eventOf({ name, number, payload, isRefusal }: SentSignal, now: number): SagaEvent {
  return isRefusal
    ? { type: 'refused', name, number, error: { name: 'ApprovalRejectedError', message: payload }, now }
    : { type: 'signalled', name, number, payload };
}
