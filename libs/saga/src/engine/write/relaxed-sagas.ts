import type { Durability } from '../../definition/options/saga-options.js';
import { type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import { stepState } from '../../machine/saga-state.js';
import type { Revised, SagaBindings } from '../versions/saga-bindings.js';
import { type Checkpoint, type CheckpointResult, concernsOthers } from '../ports/checkpoint.js';
import type { MadeCheckpoint } from './made-checkpoint.js';
import { SlotMap } from '../../shared/slot-map.js';

interface HeldSaga {
  readonly graph: SagaGraph;
  /** The last checkpoint that the database may lose yet; 0: none. */
  number: number;
}

/**
 * The sagas of this process that are stored relaxed, as long as they are run here: what has to be there when one of them is
 * stored again. A checkpoint holds what changed since the one before, so one that the database lost would leave a gap.
 */
export class RelaxedSagas {
  private readonly held = new SlotMap<string, HeldSaga>();

  constructor(private readonly bindings: SagaBindings) {}

  durabilityOf({ name, version }: Pick<Revised, 'name' | 'version'>): Durability {
    return this.bindings.graphOf({ name, version })?.durability ?? 'durable';
  }

  /** The saga is run here from now on. */
  took(saga: Revised & { readonly id: string }): void {
    if (this.durabilityOf(saga) === 'durable') return;
    this.held.set(saga.id, { graph: this.bindings.graphOf(saga)!, number: 0 });
  }

  holds(id: string): boolean {
    return this.held.has(id);
  }

  left(id: string): void {
    this.held.delete(id);
  }

  /** Requires the last checkpoint that the database may lose. */
  mark(made: MadeCheckpoint): void {
    const number = this.held.get(made.id)?.number ?? 0;
    if (number > 0) made.after = number;
  }

  /** What others go by, and that a step begins which must not begin twice, is safe before anything follows from it. */
  durabilityOfCheckpoint(checkpoint: Checkpoint): Durability {
    const held = this.held.get(checkpoint.id);
    if (!held || concernsOthers(checkpoint) || beginsAtMostOnce(held.graph, checkpoint)) return 'durable';
    return 'relaxed';
  }

  /** Whatever was stored before a durable one is safe with it. */
  stored({ id, number }: Checkpoint, durability: Durability, result: CheckpointResult): void {
    const held = this.held.get(id);
    if (held && result === 'saved') held.number = durability === 'relaxed' ? number : 0;
  }
}

function beginsAtMostOnce(graph: SagaGraph, { changed, state }: Checkpoint): boolean {
  return changed.some(
    (key) =>
      stepState(state, key).status === 'running' && graph.steps.get(stepOfKey(key))?.idempotent === false,
  );
}
