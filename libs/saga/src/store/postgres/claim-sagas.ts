import type { Claim, ClaimedSaga, ClaimRequest, StoredSaga } from '../../engine/saga-store.js';
import { arriving, type LinedUpRow, linedUp, lineUpParameters } from './line-up.js';
import type { Statements } from './statements.js';
import { type StoredSagaRow, toStoredSaga } from './stored-saga-row.js';

/** Sends a statement, in a transaction of its own. */
type Query = <Row>(text: string, parameters: unknown[]) => Promise<Row[]>;

interface LimitedRow {
  readonly taken: readonly string[];
  readonly epochs: readonly number[];
  readonly now: number;
  readonly next_due_at: number | null;
}

/** How claims take due sagas: one statement, and one more each for those with a `concurrency` and those with a lock. */
export class SagaClaims {
  constructor(
    private readonly query: Query,
    private readonly sql: Statements,
  ) {}

  async claim(request: ClaimRequest): Promise<Claim> {
    const limited = request.sagas.filter(({ concurrency }) => concurrency !== undefined);
    const plain = request.sagas.filter(({ concurrency }) => concurrency === undefined);
    const ready: StoredSaga[] = [];
    for (;;) {
      let nextDueAt = Infinity;
      let now = 0;
      let waiting = 0;
      const take = async (claim: Claim) => {
        const linedUp = await this.lineUp(claim.sagas);
        ready.push(...linedUp);
        now = claim.now;
        nextDueAt = Math.min(nextDueAt, claim.nextDueAt ?? Infinity);
        waiting += claim.sagas.length - linedUp.length;
      };
      const room = () => ({ ...request, limit: request.limit - ready.length });
      if (limited.length > 0) await take(await this.claimLimited(room(), limited, plain));
      if (limited.length === 0 || plain.length > 0) await take(await this.claimPlain(room(), plain));
      // Those that have to wait for their lock made room for others. Of a limited name they gave a place back, too: the
      // next round takes it, or announces it.
      const isFull = ready.length >= request.limit && limited.length === 0;
      if (waiting === 0 || isFull)
        return { sagas: ready, now, nextDueAt: nextDueAt === Infinity ? undefined : nextDueAt };
    }
  }

  private async claimPlain({ lease, limit }: ClaimRequest, sagas: readonly ClaimedSaga[]): Promise<Claim> {
    const rows = await this.query<StoredSagaRow & { now: number; next_due_at: number | null }>(
      this.sql.claim,
      [...namesAndVersions(sagas), limit, lease.worker, lease.duration],
    );
    const { now, next_due_at } = rows[0]!;
    return {
      sagas: rows.filter((row) => row.id !== null).map(toStoredSaga),
      now,
      nextDueAt: next_due_at ?? undefined,
    };
  }

  private async claimLimited(
    { lease, limit }: ClaimRequest,
    sagas: readonly ClaimedSaga[],
    others: readonly ClaimedSaga[],
  ): Promise<Claim> {
    const limits = sagas.map(({ concurrency }) => concurrency);
    const [row] = await this.query<LimitedRow>(this.sql.claimLimited, [
      ...namesAndVersions(sagas),
      limits,
      ...namesAndVersions(others),
      ...[limit, lease.worker, lease.duration],
    ]);
    const { taken, epochs, now, next_due_at } = row!;
    const held = [taken, epochs, lease.worker];
    const rows = taken.length > 0 ? await this.query<StoredSagaRow>(this.sql.claimed, held) : [];
    return { sagas: rows.map(toStoredSaga), now, nextDueAt: next_due_at ?? undefined };
  }

  /** Of the claimed sagas those that may run: not those that have to wait for their semantic lock. */
  private async lineUp(claimed: readonly StoredSaga[]): Promise<readonly StoredSaga[]> {
    const sagas = arriving(claimed);
    if (sagas.length === 0) return claimed;
    return linedUp(claimed, await this.query<LinedUpRow>(this.sql.lineUp, lineUpParameters(sagas)));
  }
}

function namesAndVersions(sagas: readonly ClaimedSaga[]): [string[], number[]] {
  return [sagas.map(({ name }) => name), sagas.map(({ version }) => version)];
}
