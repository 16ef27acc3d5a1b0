import type { Durability } from '../../../definition/options/saga-options.js';
import type { Checkpoint, CheckpointResult } from '../../../engine/ports/checkpoint.js';
import type { SagaRevision } from '../../../engine/ports/put-back.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { Sql } from '../connection/sql.js';
import type { Statements } from '../sql-texts.js';
import type { CheckpointCalls } from './checkpoint-call.js';
import type { PreparedCalls } from './prepared-calls.js';

/** What the statement of checkpoints returns. */
interface SavedRow {
  /** Null: all. One that is null: nothing was done, for the level of the transaction. */
  readonly saved: readonly (string | null)[] | null;
}

/** Saves checkpoints: one statement for all that are given together. */
export class SagaCheckpoints {
  constructor(
    private readonly sql: EngineSql,
    private readonly calls: PreparedCalls,
    private readonly statements: Pick<Statements, 'unsaved'>,
    private readonly checkpointCalls: CheckpointCalls,
  ) {}

  /** Saves checkpoints in a statement of their own. */
  async save(
    checkpoints: readonly Checkpoint[],
    durability: Durability | undefined,
  ): Promise<CheckpointResult[]> {
    const results = await this.saveOn(this.sql, checkpoints, { durability });
    if (results[0] !== 'raised') return results as CheckpointResult[];
    // The default level is another one since.
    this.sql.isolation.isRaised = true;
    return this.save(checkpoints, durability);
  }

  /**
   * Saves checkpoints on a connection, or in a transaction. 'raised': the isolation level is one at which a semantic lock
   * cannot be handed on, so that nothing was saved.
   */
  async saveOn(
    sql: Sql,
    checkpoints: readonly Checkpoint[],
    { idleTimeout, durability }: { idleTimeout?: number; durability?: Durability } = {},
  ): Promise<(CheckpointResult | 'raised')[]> {
    const fresh = checkpoints.every((checkpoint) => checkpoint.fresh);
    const call = (isFresh: boolean) => this.checkpointCalls.of(checkpoints, isFresh, durability);
    const [row] = await this.calls.insertOrUpsert<SavedRow>(sql, fresh, call, idleTimeout);
    if (row!.saved === null) return checkpoints.map(() => 'saved');
    if (row!.saved[0] === null) return ['raised'];
    const saved = new Set(row!.saved);
    if (saved.size === checkpoints.length) return checkpoints.map(() => 'saved');
    const unsaved = checkpoints.filter((c) => !saved.has(c.id)).map((c) => c.id);
    const found = await sql.query<SagaRevision[]>(...this.statements.unsaved({ ids: unsaved }));
    return resultsOf(checkpoints, saved, found);
  }
}

/** @param found how far those sagas have come that were not saved */
function resultsOf(
  checkpoints: readonly Checkpoint[],
  saved: ReadonlySet<string | null>,
  found: readonly SagaRevision[],
): CheckpointResult[] {
  const rows = new Map(found.map((row) => [row.id, row]));
  return checkpoints.map(({ id, epoch, number }) => {
    if (saved.has(id)) return 'saved';
    const row = rows.get(id);
    if (row?.epoch !== epoch) return 'fenced';
    return row.checkpoints >= number ? 'saved' : 'cancelled';
  });
}
