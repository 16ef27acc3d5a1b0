import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { decisionEdit } from '../../libs/saga/src/engine/operate/approvals.js';
import { operated } from '../../libs/saga/src/engine/operate/operator-calls.js';
import type { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import type { SentSignal } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { APPROVERS } from './random-saga.js';
import type { Sending } from './scenario.js';
import type { Life, Timeline } from './timeline.js';
import type { InvariantChecker } from './invariant-checker.js';

/** Where something is sent from. */
export interface Sender {
  readonly engine: SagaEngine;
  readonly life: Life;
}

/** A sender whose process died, or that gets no answer, sends the same again after this time (ms). */
const PATIENCE = 3_000;
/** A name that no step waits for. */
const UNWANTED = 'nobody';

/** Services that send signals until they are accepted, each under one message id, and approvers who decide. */
export class Senders {
  constructor(
    private readonly timeline: Timeline,
    private readonly checker: InvariantChecker,
    private readonly sender: (n: number) => Sender,
  ) {}

  /** @param id of the saga, which has this graph */
  carryOut({ name, pick, by, again, isRefusal }: Sending, id: string, graph: SagaGraph): void {
    const waits = [...graph.steps.values()].filter(
      ({ wait, compensationReply }) => (wait ?? compensationReply) !== undefined,
    );
    const node = waits[pick % waits.length];
    const isUnwanted = pick % 11 === 10;
    if (node === undefined && !isUnwanted) return;
    if (node?.kind === 'approval' && !isUnwanted) return this.decide(id, node.name, name, by, isRefusal);
    const signal = signalOf(name, isUnwanted ? UNWANTED : (node!.wait ?? node!.compensationReply)!.signal);
    this.send(id, signal, by);
    for (let n = 1; n <= again; n += 1)
      this.timeline.after(n * 1_500 * (pick + 1), () => this.send(id, signal, by + n));
  }

  /** Until it is answered. */
  send(id: string, signal: SentSignal, by: number): void {
    const { engine, life } = this.sender(by);
    let isAnswered = false;
    const next = () => {
      if (isAnswered) return;
      isAnswered = true;
      this.send(id, signal, by + 1);
    };
    this.timeline.after(PATIENCE, next);
    if (!life.isAlive) return;
    engine.signal({ id }, signal).then(({ outcome }) => {
      isAnswered = true;
      this.checker.note(() => `${signal.messageId} to ${id} is ${outcome}`);
    }, next);
  }

  /** An approver decides, and receives an error if it is too late or another was faster. */
  decide(id: string, step: string, messageId: string, by: number, isRefusal: boolean): void {
    const { engine, life } = this.sender(by);
    if (!life.isAlive) return;
    const approver = `approver ${(by + APPROVERS) % APPROVERS}`;
    const decision = { approved: !isRefusal, by: approver, comment: messageId };
    const action = isRefusal ? ('reject' as const) : ('approve' as const);
    const call = { id: messageId, action, by: approver, step, needed: 1 };
    if (!isRefusal) this.checker.messages.approves(id, step, approver);
    engine
      .edit({ id }, (saga, graph, now) => {
        const change = () => decisionEdit(saga, graph, now, { step, decision, messageId });
        return operated(saga, call, change).edit;
      })
      .catch((error: Error) => this.checker.note(() => `${messageId} is refused: ${error.message}`));
  }
}

/** The payload says which it is. */
export function signalOf(messageId: string, name: string): SentSignal {
  return { name, messageId, payload: JSON.stringify({ comment: messageId }) };
}
