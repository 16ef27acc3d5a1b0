import type {
  StepOfSaga,
  StepPauseStore,
  StoredStepPause,
  WhoAndWhy,
} from '../../../engine/ports/step-pause.js';
import { withoutNulls } from '../read/without-nulls.js';
import type { Statements } from '../sql-texts.js';

/** Sagas that are made due by one statement, at most. */
const BATCH = 5_000;

interface PauseRow {
  /** Null: there are no pauses. */
  readonly saga: string | null;
  readonly step: string;
  readonly paused_at: number;
  readonly paused_by: string | null;
  readonly pause_reason: string | null;
  readonly resumed_at: number | null;
  readonly resumed_by: string | null;
  readonly resume_reason: string | null;
  readonly woken: boolean;
  readonly now: number;
}

/** The last saga of a batch. */
interface WokenRow {
  readonly count: number;
  readonly version: number;
  readonly rank: string;
  readonly id: string;
}

const BEFORE_ALL: WokenRow = {
  count: BATCH,
  version: 0,
  rank: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
};

/** The pauses of steps, in one table. */
export class PostgresPauses implements StepPauseStore {
  constructor(
    private readonly query: <Row>(text: string, parameters: unknown[]) => Promise<Row[]>,
    private readonly sql: Statements,
    private readonly channel: string,
  ) {}

  async all(resumed: number): Promise<{ pauses: readonly StoredStepPause[]; now: number }> {
    const rows = await this.query<PauseRow>(...this.sql.stepPauses({ resumed }));
    return { pauses: rows.filter(({ saga }) => saga !== null).map(toStoredPause), now: rows[0]!.now };
  }

  async pause({ saga, step }: StepOfSaga, { by, reason }: WhoAndWhy): Promise<void> {
    await this.query(
      ...this.sql.pauseStep({ saga, step, by: by ?? null, reason: reason ?? null, channel: this.channel }),
    );
  }

  async resume({ saga, step }: StepOfSaga, { by, reason }: WhoAndWhy): Promise<void> {
    await this.query(
      ...this.sql.resumeStep({ saga, step, by: by ?? null, reason: reason ?? null, channel: this.channel }),
    );
  }

  async wake(step: StepOfSaga): Promise<void> {
    const pauses = await this.query<{ id: string }>(...this.sql.resumed(step));
    if (pauses.length === 0) return;
    for (const wakeSome of [this.sql.wakeIdle, this.sql.wakeLater]) await this.wakeAll(wakeSome, step);
    await this.query(...this.sql.woken({ ids: pauses.map(({ id }) => id) }));
  }

  private async wakeAll(
    wakeSome: Statements['wakeIdle' | 'wakeLater'],
    { saga, step }: StepOfSaga,
  ): Promise<void> {
    for (let last: WokenRow | undefined = BEFORE_ALL; last;) {
      const { version, rank, id }: WokenRow = last;
      [last] = await this.query<WokenRow>(...wakeSome({ saga, step, version, rank, id, limit: BATCH }));
      if (last) await this.query('SELECT pg_notify($1, $2)', [this.channel, 'due']);
      if (last && last.count < BATCH) return;
    }
  }
}

function toStoredPause(row: PauseRow): StoredStepPause {
  const { saga, step, paused_at, resumed_at, woken } = row;
  return {
    ...{ saga: saga!, step, isOver: woken },
    paused: changeOf(paused_at, row.paused_by, row.pause_reason),
    ...(resumed_at !== null && { resumed: changeOf(resumed_at, row.resumed_by, row.resume_reason) }),
  };
}

const changeOf = (at: number, by: string | null, reason: string | null) =>
  withoutNulls<WhoAndWhy & { readonly at: number }>({ at, by, reason });
