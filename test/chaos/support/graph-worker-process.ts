import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { itemKey } from '../../../libs/saga/src/definition/graph/saga-graph.js';
import { type Call, type CallQueue, type Ending, happens } from '../../graphs/held-calls.js';
import type { CallCommand } from '../programs/graph-worker.js';
import type { CallKind, SagaPlan } from '../programs/planned-saga.js';

const PROGRAM = fileURLToPath(new URL('../dist/graph-worker.js', import.meta.url));

interface CallReport {
  readonly type: 'call';
  readonly call: number;
  readonly kind: CallKind;
  readonly sagaId: string;
  readonly step: string;
  readonly index?: number;
  readonly round: number;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly results: Record<string, unknown>;
  readonly result?: unknown;
  readonly payload?: unknown;
}

type GraphReport =
  | CallReport
  | { readonly type: 'aborted'; readonly call: number }
  | { readonly type: 'applied'; readonly call: number }
  | { readonly type: 'ready' };

/** A call that another process holds. */
class RemoteCall implements Call {
  readonly kind: CallKind;
  readonly sagaId: string;
  readonly key: string;
  readonly round: number;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly results: Record<string, unknown>;
  readonly result: unknown;
  readonly payload: unknown;
  aborted = false;
  readonly wasApplied: Promise<void>;
  applied!: () => void;

  constructor(
    private readonly report: CallReport,
    readonly worker: GraphWorkerProcess,
  ) {
    const { kind, sagaId, step, index, round, attempt, idempotencyKey, results, result } = report;
    this.kind = kind;
    this.sagaId = sagaId;
    this.key = index === undefined ? step : itemKey(step, index);
    this.round = round;
    this.attempt = attempt;
    this.idempotencyKey = idempotencyKey;
    this.results = results;
    this.result = result;
    this.payload = report.payload;
    this.wasApplied = new Promise((resolve) => (this.applied = resolve));
  }

  end(ending: Ending): void {
    const { call } = this.report;
    if (ending.type === 'throw') return this.worker.tell({ ...ending, call });
    const { value } = ending;
    // What a probe finds done has happened.
    const effect = this.kind !== 'probe' || typeof value === 'object';
    this.worker.tell({ type: 'return', call, value, effect });
  }

  /** Resolves once its effect is there, while the call is still held. */
  async apply(): Promise<void> {
    this.worker.tell({ type: 'apply', call: this.report.call });
    await happens(this.wasApplied, () => `the effect of ${this.key} was not applied`);
  }
}

/** A worker in a process of its own, which holds each call of a method until the test sets its result. */
export class GraphWorkerProcess {
  private readonly child: ChildProcess;
  private readonly calls: RemoteCall[] = [];
  private readonly ready: Promise<void>;

  private constructor(environment: Record<string, string>, queueOf: (sagaId: string) => CallQueue) {
    this.child = fork(PROGRAM, {
      env: { ...process.env, NODE_OPTIONS: '', ...environment },
      stdio: 'inherit',
    });
    this.ready = new Promise((resolve) => {
      this.child.on('message', (message: GraphReport) => {
        if (message.type === 'ready') resolve();
        else if (message.type === 'aborted') this.calls[message.call]!.aborted = true;
        else if (message.type === 'applied') this.calls[message.call]!.applied();
        else queueOf(message.sagaId).put((this.calls[message.call] = new RemoteCall(message, this)));
      });
    });
  }

  static async start(
    environment: Record<string, string>,
    plans: readonly SagaPlan[],
    queueOf: (sagaId: string) => CallQueue,
  ): Promise<GraphWorkerProcess> {
    const worker = new GraphWorkerProcess(environment, queueOf);
    worker.child.send(plans);
    await happens(worker.ready, () => 'a worker did not come up');
    return worker;
  }

  get pid(): number {
    return this.child.pid!;
  }

  tell(command: CallCommand): void {
    if (this.child.connected) this.child.send(command);
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

/** Does this worker hold the call? */
export function isHeldBy(worker: GraphWorkerProcess, call: Call): call is RemoteCall {
  return call instanceof RemoteCall && call.worker === worker;
}
