import type { SlotHolder, SlotLimit, StepSlotStore } from '../../../engine/ports/step-slots.js';
import { fieldArrays } from '../checkpoint/column-values.js';
import type { Query } from '../read/saga-reader.js';
import type { Statements } from '../sql-texts.js';

/** The slots of steps with a limit over all sagas. */
export class StepSlots implements StepSlotStore {
  constructor(
    private readonly query: Query,
    private readonly sql: Pick<Statements, 'takeSlots' | 'freeSlots' | 'fenceSlots' | 'sweepSlots'>,
  ) {}

  async take(...asked: Parameters<StepSlotStore['take']>): Promise<readonly string[] | undefined> {
    const [row] = await this.query<{ taken: string[] | null }>(...this.sql.takeSlots(parametersOf(...asked)));
    return row!.taken ?? undefined;
  }

  async free(...freed: Parameters<StepSlotStore['free']>): Promise<void> {
    await this.query(...this.sql.freeSlots(parametersOf(...freed)));
  }

  async sweep(sagas: Parameters<StepSlotStore['sweep']>[0]): Promise<void> {
    const limits = sagas.flatMap(({ name, version, steps }) =>
      [...steps].map(([step, count]) => ({ name, version, step, count })),
    );
    const names = sagas.map(({ name }) => name);
    await this.query(...this.sql.fenceSlots({ names: [...new Set(names)] }));
    const versions = sagas.map(({ version }) => version);
    const [limitNames, limitVersions, limitSteps, limitCounts] = fieldArrays(
      limits,
      ...(['name', 'version', 'step', 'count'] as const),
    );
    await this.query(
      ...this.sql.sweepSlots({ names, versions, limitNames, limitVersions, limitSteps, limitCounts }),
    );
  }
}

function parametersOf(
  { saga, step, key = '', count }: SlotLimit,
  { id, epoch, turn }: SlotHolder,
  steps: readonly string[],
) {
  return { saga, step, key, count, id, epoch, turn, steps };
}
