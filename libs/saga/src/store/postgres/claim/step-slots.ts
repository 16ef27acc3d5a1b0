import type { SlotHolder, SlotLimit, StepSlotStore } from '../../../engine/ports/step-slots.js';
import type { Query } from '../read/saga-reader.js';
import type { Statements } from '../statements.js';

/** The slots of steps with a limit over all sagas. */
export class StepSlots implements StepSlotStore {
  constructor(
    private readonly query: Query,
    private readonly sql: Pick<Statements, 'takeSlots' | 'freeSlots' | 'fenceSlots' | 'sweepSlots'>,
  ) {}

  async take(...asked: Parameters<StepSlotStore['take']>): Promise<readonly string[] | undefined> {
    const [row] = await this.query<{ taken: string[] | null }>(this.sql.takeSlots, parametersOf(...asked));
    return row!.taken ?? undefined;
  }

  async free(...freed: Parameters<StepSlotStore['free']>): Promise<void> {
    await this.query(this.sql.freeSlots, parametersOf(...freed));
  }

  async sweep(limits: Parameters<StepSlotStore['sweep']>[0]): Promise<void> {
    const rows = [...limits].flatMap(([saga, steps]) =>
      [...steps].map(([step, count]) => ({ saga, step, count })),
    );
    const names = [...limits.keys()];
    await this.query(this.sql.fenceSlots, [names]);
    await this.query(this.sql.sweepSlots, [
      names,
      rows.map(({ saga }) => saga),
      rows.map(({ step }) => step),
      rows.map(({ count }) => count),
    ]);
  }
}

function parametersOf(
  { saga, step, key = '', count }: SlotLimit,
  { id, epoch, turn }: SlotHolder,
  steps: readonly string[],
): unknown[] {
  return [saga, step, key, count, id, epoch, turn, steps];
}
