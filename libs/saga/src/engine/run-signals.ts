import type { SagaGraph } from '../definition/saga-graph.js';
import type { SagaEvent } from '../machine/saga-event.js';
import type { SagaState } from '../machine/saga-state.js';
import { stepAwaiting } from '../machine/waits.js';
import { refusalIn } from './approvals.js';
import type { SagaStore, StoredSignal } from './saga-store.js';

export interface RunSignalsPorts {
  readonly unheard: SagaStore['unheard'];
  readonly now: () => number;
}

/** What a saga was sent from outside, until a step takes it. */
export class RunSignals {
  private known = 0;
  private kept: StoredSignal[] = [];

  constructor(
    private readonly id: string,
    private readonly graph: SagaGraph,
    stored: readonly StoredSignal[] | undefined,
    private readonly ports: RunSignalsPorts,
  ) {
    this.keep(stored ?? []);
  }

  /** The next one that a step of this state waits for; undefined: there is none. It is not told again. */
  next(state: SagaState): SagaEvent | undefined {
    const index = this.kept.findIndex(({ name }) => stepAwaiting(this.graph, state, name) !== undefined);
    const [signal] = index < 0 ? [] : this.kept.splice(index, 1);
    return signal && this.eventOf(signal);
  }

  /** Something may have come; true: something has. */
  async look(): Promise<boolean> {
    const before = this.known;
    this.keep(await this.ports.unheard(this.id));
    return this.known > before;
  }

  private keep(signals: readonly StoredSignal[]): void {
    const fresh = signals.filter(({ number }) => number > this.known);
    this.kept.push(...fresh);
    this.known = fresh.at(-1)?.number ?? this.known;
  }

  private eventOf({ name, number, payload }: StoredSignal): SagaEvent {
    const error = refusalIn(name, payload);
    return error
      ? { type: 'refused', name, number, error, now: this.ports.now() }
      : { type: 'signalled', name, number, payload };
  }
}
