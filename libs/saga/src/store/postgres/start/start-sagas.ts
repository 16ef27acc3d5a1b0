import type { Durability } from '../../../definition/options/saga-options.js';
import type { StartResult } from '../../../engine/ports/saga-store.js';
import type { Lease, NewSaga } from '../../../engine/ports/stored-saga.js';
import type { Sql } from '../connection/sql.js';
import { fieldArrays } from '../checkpoint/column-values.js';
import type { PreparedCalls } from '../checkpoint/prepared-calls.js';
import { startOneParameters, startParameters, takesLease } from './start-parameters.js';
import type { Statements } from '../sql-texts.js';

interface StartedRow {
  /** The ids of sagas that were not stored yet; null: all. */
  readonly id: readonly string[] | null;
  readonly now: number;
}

/** A saga that prevented others from being started. */
interface ExistingRow {
  /** The index of the saga that it prevented. */
  readonly n: number;
  readonly id: string;
  readonly name: string;
  readonly correlation_id: string | null;
  readonly input: string | null;
  readonly locked_by: string | null;
  readonly epoch: number;
  readonly now: number;
}

/** How new sagas are stored: in one statement, and one more for those that were there already. */
export class SagaStarts {
  constructor(
    private readonly calls: PreparedCalls,
    private readonly sql: Statements,
    /** See ReadBounds. */
    private readonly pageBytes: number,
  ) {}

  async start(
    sql: Sql,
    sagas: readonly NewSaga[],
    lease: Lease,
    durability?: Durability,
  ): Promise<StartResult[]> {
    if (sagas.length === 0) return [];
    if (sagas.some(isMixedWith(sagas[0]!))) return this.startApart(sql, sagas, lease, durability);
    const arrivals = firstOfEachKey(sagas);
    const sorted = inOrderOfKeys(arrivals);
    const { id: created, now } = await this.insert(sql, sorted, arrivals, lease, durability);
    const ids = new Set(created ?? arrivals.map(({ id }) => id));
    // Of two with one id the first was sent; the second conflicts like any other.
    const results = sagas.map((saga): StartResult | undefined =>
      ids.delete(saga.id) ? { created: true, leased: takesLease(saga), now } : undefined,
    );
    return results.includes(undefined)
      ? this.withExisting(sql, sagas, results, lease, durability)
      : (results as StartResult[]);
  }

  /** Starts sagas that are rejected while their lock is held, and the others, each by a statement of their own. */
  private async startApart(
    sql: Sql,
    sagas: readonly NewSaga[],
    lease: Lease,
    durability: Durability | undefined,
  ): Promise<StartResult[]> {
    const [first] = sagas;
    const parts = [sagas.filter((saga) => !isMixedWith(first!)(saga)), sagas.filter(isMixedWith(first!))];
    const results = new Map<NewSaga, StartResult>();
    for (const part of parts) {
      const started = await this.start(sql, part, lease, durability);
      part.forEach((saga, n) => results.set(saga, started[n]!));
    }
    return sagas.map((saga) => results.get(saga)!);
  }

  private async insert(
    sql: Sql,
    sagas: readonly NewSaga[],
    arrivals: readonly NewSaga[],
    lease: Lease,
    durability: Durability | undefined,
  ): Promise<StartedRow> {
    if (sagas[0]!.lockRejects) {
      const parameters = [lease.worker, lease.duration, ...startParameters(sagas, arrivals), false];
      const call = { statement: 'startRejecting', parameters } as const;
      return (await this.calls.insertOrUpsert<StartedRow>(sql, false, () => call))[0]!;
    }
    const one = startOneParameters(sagas);
    const given = [lease.worker, lease.duration, ...(one ?? startParameters(sagas, arrivals))];
    const statement = one ? 'startOne' : 'start';
    const kind = durability === 'relaxed' ? 'Relaxed' : '';
    const [row] = await this.calls.insertOrUpsert<StartedRow>(sql, isAllNew(sagas), (fresh) => ({
      statement: `${statement}${kind}`,
      parameters: [...given, fresh],
    }));
    return row!;
  }

  private async withExisting(
    sql: Sql,
    sagas: readonly NewSaga[],
    results: (StartResult | undefined)[],
    lease: Lease,
    durability: Durability | undefined,
  ): Promise<StartResult[]> {
    const missing = [...sagas.keys()].filter((n) => results[n] === undefined);
    const [ids, names, correlationIds] = fieldArrays(
      missing.map((n) => sagas[n]!),
      ...(['id', 'name', 'correlationId'] as const),
    );
    const existing = await sql.query<ExistingRow[]>(
      ...this.sql.existing({ places: missing, ids, names, correlationIds, pageBytes: this.pageBytes }),
    );
    for (const { n, id, name, correlation_id, input, locked_by, epoch, now } of existing) {
      const saga = sagas[n]!;
      if (saga.fresh && saga.id === id) {
        // An earlier try of this very call arrived, and its acknowledgement did not.
        results[n] = {
          created: true,
          leased: takesLease(saga) && locked_by === lease.worker && epoch === 1,
          now,
        };
        continue;
      }
      results[n] = {
        created: false,
        existing: { id, name, correlationId: correlation_id ?? undefined, input: input ?? undefined },
      };
    }
    await this.nameHolders(sql, sagas, results);
    // What was in the way may have been deleted since, or was too large to be read with the others.
    const gone = missing.filter((n) => results[n] === undefined);
    if (gone.length > 0) {
      const again = await this.start(
        sql,
        gone.map((n) => sagas[n]!),
        lease,
        durability,
      );
      gone.forEach((n, index) => (results[n] = again[index]));
    }
    return results as StartResult[];
  }

  /** Names the sagas that have the locks of those that were rejected. If it has ended since, they are started again. */
  private async nameHolders(
    sql: Sql,
    sagas: readonly NewSaga[],
    results: (StartResult | undefined)[],
  ): Promise<void> {
    const rejected = [...sagas.keys()].filter((n) => results[n] === undefined && sagas[n]!.lockRejects);
    if (rejected.length === 0) return;
    const names = rejected.map((n) => sagas[n]!.name);
    const keys = rejected.map((n) => sagas[n]!.lockKey!);
    const rows = await sql.query<{ n: number; holder: string | null }[]>(
      ...this.sql.lockHolders({ places: rejected, names, keys }),
    );
    for (const { n, holder } of rows)
      if (holder !== null) results[n] = { created: false, lockHolder: holder };
  }
}

/** Is it rejected while its lock is held, and the other one is not, or the other way round? */
function isMixedWith({ lockRejects }: NewSaga): (saga: NewSaga) => boolean {
  return (saga) => saga.lockRejects !== lockRejects;
}

/** Nothing of these can be there: their ids were made for them, and they have no others. */
function isAllNew(sagas: readonly NewSaga[]): boolean {
  return sagas.every(({ fresh, correlationId }) => fresh && correlationId === undefined);
}

/** If several sagas have one id or correlation id, the first is stored, and the others find it. */
function firstOfEachKey(sagas: readonly NewSaga[]): readonly NewSaga[] {
  const ids = new Set<string>();
  const keys = new Set<string>();
  return sagas.filter((saga) => {
    const key = correlationKey(saga);
    if (ids.has(saga.id) || (key !== undefined && keys.has(key))) return false;
    ids.add(saga.id);
    if (key !== undefined) keys.add(key);
    return true;
  });
}

/** What two processes start at the same time, they store in one order, so that neither waits for the other in a circle. */
function inOrderOfKeys(sagas: readonly NewSaga[]): readonly NewSaga[] {
  if (isAllNew(sagas)) return sagas;
  const keyed = sagas.map((saga) => [correlationKey(saga) ?? `\0${saga.id}`, saga] as const);
  return keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, saga]) => saga);
}

function correlationKey({ correlationId, name }: NewSaga): string | undefined {
  return correlationId === undefined ? undefined : `${correlationId}\0${name}`;
}
