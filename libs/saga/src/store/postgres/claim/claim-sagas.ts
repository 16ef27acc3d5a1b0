import { setTimeout as sleep } from 'node:timers/promises';
import { sizeOfSaga, SMALL_SAGA } from '../../../engine/ports/payload-size.js';
import type { Claim, ClaimBytes, ClaimedSaga, ClaimRequest } from '../../../engine/ports/saga-store.js';
import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import type { Lease, StoredSaga } from '../../../engine/ports/stored-saga.js';
import { BacklogPosition } from './backlog-position.js';
import { isToEnqueue, type EnqueuedRow, enqueued, enqueueParameters } from './lock-enqueue.js';
import type { Query, SagaReader, Taken } from '../read/saga-reader.js';
import type { Statements } from '../sql-texts.js';
import { type StoredSagaRow, toStoredSaga } from '../read/stored-saga-row.js';
import { isOutage } from '../connection/transient-errors.js';

interface LimitedRow {
  readonly taken: readonly string[];
  readonly epochs: readonly number[];
  readonly now: number;
  readonly next_due_at: number | null;
}

/** The first row of a claim; see claim.sql. */
interface ClaimRow {
  readonly now: number;
  readonly next_due_at: number | null;
  /** How many were left, for want of room for their bytes. */
  readonly heavy: number;
  /** See PositionedClaim. */
  readonly last: number | null;
}

/** What a claim has come to so far. `nextDueAt`, `waiting` and `isPartial` are those of the last round. */
interface Round {
  readonly ready: StoredSaga[];
  now: number;
  nextDueAt: number;
  /** Taken, and made to wait for their lock. */
  waiting: number;
  /** Some were left for want of room for their bytes. */
  heavy: boolean;
  /** More may be due before the place in the backlog where the claim began. */
  isPartial: boolean;
}

/**
 * Claims due sagas, in rounds: a statement for sagas with a `limit`, one for those whose limit has a key, one for all
 * others, and one after each for sagas with a lock. A further round takes the place of those that have to wait for their lock.
 *
 * They are transactions of their own. Queues are locked before rows (see lock-queue.sql), and the claimed sagas
 * are known only once their rows are. If a statement fails, its sagas are released, because no worker would run them
 * until their leases run out. The sagas that are ready run.
 */
export class SagaClaims {
  private keyedFirst = false;

  constructor(
    /** Each statement is a transaction of its own. */
    private readonly query: Query,
    private readonly sql: Statements,
    private readonly reader: SagaReader,
    private readonly position = new BacklogPosition(),
  ) {}

  async claim(request: ClaimRequest): Promise<Claim> {
    const round: Round = {
      ready: [],
      now: 0,
      nextDueAt: Infinity,
      waiting: 0,
      heavy: false,
      isPartial: false,
    };
    try {
      do await this.takeRound(request, round);
      while (goesOn(request, round));
    } catch (failure) {
      if (round.ready.length === 0) throw failure;
      return { sagas: round.ready, now: round.now, nextDueAt: round.now, failure };
    }
    const { ready, now, nextDueAt, heavy } = round;
    return { sagas: ready, now, nextDueAt: nextDueAt === Infinity ? undefined : nextDueAt, heavy };
  }

  /**
   * Removes a saga from its lock queue that ended in a transaction which could not do that. `lock_enqueue` locks the queue, takes
   * out what has ended, and hands the lock on.
   */
  async dequeue({ id, epoch, lock }: Checkpoint): Promise<void> {
    const one = { ids: [id], epochs: [epoch], names: [lock!.name], keys: [lock!.key] };
    await this.query(...this.sql.enqueue(one));
  }

  private async takeRound(request: ClaimRequest, round: Round): Promise<void> {
    const { limited, keyed, plain } = partsOf(request);
    const room = () => ({
      ...request,
      limit: request.limit - round.ready.length,
      bytes: leftOf(request.bytes, round.ready),
    });
    round.nextDueAt = Infinity;
    round.waiting = 0;
    round.isPartial = false;
    // Neither comes first always: under load, what comes first may take all of the room.
    this.keyedFirst = !this.keyedFirst;
    const parts = [[this.sql.claimLimited, limited] as const, [this.sql.claimKeyed, keyed] as const];
    for (const [sql, sagas] of this.keyedFirst ? parts.reverse() : parts)
      if (sagas.length > 0)
        await this.take(await this.claimLimited(sql, room(), sagas, plain), request, round);
    if (plain.length > 0 || limited.length + keyed.length === 0) {
      const claim = await this.claimPlain(room(), plain);
      round.isPartial = claim.isPartial;
      await this.take(claim, request, round);
    }
  }

  /** Takes sagas. Those that have to wait for their semantic lock are released. */
  private async take(
    { sagas, now, nextDueAt = Infinity, heavy = false }: Claim,
    { lease }: ClaimRequest,
    round: Round,
  ) {
    round.now = now;
    round.heavy ||= heavy;
    round.nextDueAt = Math.min(round.nextDueAt, nextDueAt);
    const rows = await this.enqueue(sagas.filter(isToEnqueue), lease).catch((error: unknown) => {
      round.ready.push(...sagas.filter((saga) => !isToEnqueue(saga)));
      throw error;
    });
    const ready = enqueued(sagas, rows);
    round.ready.push(...ready);
    round.waiting += sagas.length - ready.length;
  }

  private async claimPlain(
    { lease, limit, bytes = ALL_ROOM }: ClaimRequest,
    sagas: readonly ClaimedSaga[],
  ): Promise<Claim & Pick<Round, 'isPartial'>> {
    const { from } = this.position;
    const statement = this.sql.claim({
      ...namesAndVersions(sagas),
      ...{ room: limit, worker: lease.worker, lease: lease.duration, fromRank: from ?? null },
      ...{ pageBytes: this.reader.pageBytes, isAlone: bytes.alone },
      bytes: Math.floor(Math.min(bytes.room, Number.MAX_SAFE_INTEGER)),
    });
    const rows = await this.query<ClaimRow | StoredSagaRow>(...statement);
    const [claim, ...taken] = rows as [ClaimRow, ...StoredSagaRow[]];
    const { now, next_due_at, heavy, last } = claim;
    const isPartial = this.position.claimed({ from, limit, taken: taken.length, last });
    const anew = taken.filter((row) => row.inParts);
    const read = await this.orGiveBack(this.readAll(leasesOf(anew), lease), leasesOf(taken), lease);
    const whole = new Map(read.map((saga) => [saga.id, saga]));
    return {
      // One that is not found again is another's by now.
      sagas: taken.flatMap((row) => (row.inParts ? (whole.get(row.id) ?? []) : toStoredSaga(row))),
      now,
      nextDueAt: next_due_at ?? undefined,
      heavy: heavy > 0,
      isPartial,
    };
  }

  private async claimLimited(
    statement: Statements['claimLimited' | 'claimKeyed'],
    { lease, limit, bytes = ALL_ROOM }: ClaimRequest,
    sagas: readonly ClaimedSaga[],
    others: readonly ClaimedSaga[],
  ): Promise<Claim> {
    const limits = sagas.map(({ maxLeases }) => maxLeases);
    const { names: otherNames, versions: otherVersions } = namesAndVersions(others);
    const [row] = await this.query<LimitedRow>(
      ...statement({
        ...{ ...namesAndVersions(sagas), limits, otherNames, otherVersions },
        ...{ room: limit, worker: lease.worker, lease: lease.duration },
      }),
    );
    const { taken: ids, epochs, now, next_due_at } = row!;
    const taken = { ids, epochs };
    const read = await this.orGiveBack(this.readWithin(taken, lease, bytes), taken, lease);
    return { sagas: read.sagas, now, nextDueAt: next_due_at ?? undefined, heavy: read.heavy };
  }

  private async readAll(taken: Taken, lease: Lease): Promise<StoredSaga[]> {
    if (taken.ids.length === 0) return [];
    const sagas: StoredSaga[] = [];
    for await (const page of this.reader.taken(taken, lease.worker)) sagas.push(...page);
    return sagas;
  }

  /** As much as there is room for, and one page at least; the others are given back. */
  private async readWithin(taken: Taken, lease: Lease, { room }: ClaimBytes) {
    const sagas: StoredSaga[] = [];
    if (taken.ids.length === 0) return { sagas, heavy: false };
    for await (const page of this.reader.taken(taken, lease.worker)) {
      sagas.push(...page);
      if (largeBytes(sagas) > room) break;
    }
    const read = new Set(sagas.map(({ id }) => id));
    const left = [...taken.ids.keys()].filter((n) => !read.has(taken.ids[n]!));
    const rest = { ids: left.map((n) => taken.ids[n]!), epochs: left.map((n) => taken.epochs[n]!) };
    if (left.length > 0) await this.giveBack(rest, lease);
    return { sagas, heavy: left.length > 0 };
  }

  private async enqueue(sagas: readonly StoredSaga[], lease: Lease): Promise<EnqueuedRow[]> {
    if (sagas.length === 0) return [];
    const taken = leasesOf(sagas);
    const rows = this.query<EnqueuedRow>(...this.sql.enqueue(enqueueParameters(sagas)));
    return this.orGiveBack(rows, taken, lease);
  }

  /** If it fails, the leases are given back that were taken for it. */
  private async orGiveBack<T>(answer: Promise<T>, taken: Taken, lease: Lease): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      await this.giveBack(taken, lease);
      throw error;
    }
  }

  /** Tries for a third of a lease: what is ready meanwhile begins under the rest of its own. */
  private async giveBack({ ids, epochs }: Taken, { worker, duration }: Lease): Promise<void> {
    const until = performance.now() + duration / 3;
    for (let wait = 20; ; wait *= 2) {
      try {
        await this.query(...this.sql.giveBack({ ids, epochs, worker, delay: 0 }));
        return;
      } catch (error) {
        // Then they wait until the lease runs out.
        if (!isOutage(error) || performance.now() + wait > until) return;
        await sleep(wait);
      }
    }
  }
}

/**
 * Sagas that have to wait for their lock made room for others. Of a limited name they gave a place back, too: the next
 * round takes it, or announces it. A claim that began in a backlog, and found its end, is repeated from the beginning.
 */
function goesOn(request: ClaimRequest, { ready, waiting, isPartial }: Round): boolean {
  if (isPartial && ready.length < request.limit) return true;
  const isFull =
    ready.length >= request.limit && request.sagas.every(({ maxLeases }) => maxLeases === undefined);
  return waiting > 0 && !isFull;
}

const ALL_ROOM: ClaimBytes = { room: Infinity, alone: true };

/** What there is room for once these are taken. */
function leftOf(bytes: ClaimBytes = ALL_ROOM, taken: readonly StoredSaga[]): ClaimBytes {
  const large = largeBytes(taken);
  return large === 0 ? bytes : { room: bytes.room - large, alone: false };
}

function largeBytes(sagas: readonly StoredSaga[]): number {
  return sagas.map(sizeOfSaga).reduce((sum, size) => (size > SMALL_SAGA ? sum + size : sum), 0);
}

function partsOf({ sagas }: ClaimRequest): Record<'limited' | 'keyed' | 'plain', ClaimedSaga[]> {
  const plain = sagas.filter(({ maxLeases }) => maxLeases === undefined);
  if (plain.length === sagas.length) return { limited: [], keyed: [], plain };
  const isLimited = ({ maxLeases }: ClaimedSaga) => maxLeases !== undefined;
  return {
    limited: sagas.filter((saga) => isLimited(saga) && !saga.keyed),
    keyed: sagas.filter((saga) => isLimited(saga) && saga.keyed),
    plain,
  };
}

function namesAndVersions(sagas: readonly ClaimedSaga[]) {
  return { names: sagas.map(({ name }) => name), versions: sagas.map(({ version }) => version) };
}

function leasesOf(sagas: readonly { readonly id: string; readonly epoch: number }[]): Taken {
  return { ids: sagas.map(({ id }) => id), epochs: sagas.map(({ epoch }) => epoch) };
}
