import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  type Claim,
  type ClaimRequest,
  sizeOfSaga,
  type StoredSaga,
} from 'nestjs-durable-saga/internal/backend';
import { type ClaimedSlot, SAGA_SLOTS, slotKey } from './contracts.js';
import type { Offer, Offers } from './offers.js';
import type { RestateCalls } from './restate-calls.js';

/** So many sagas are claimed at the same time. */
const AT_ONCE = 32;
/** A claim takes about this share of a lease at most, and this time (ms) at least. */
const SHARE = 1 / 20;
const SHORTEST = 100;
/** How long (ms) a slot is kept for a claim that is about to be made. */
const CLAIMED_WITHIN = 10_000;

/** One claim: of what the process was offered, the most urgent first, within the slots of their limits. */
export class RestateClaim {
  private readonly taken: { readonly rank: number; readonly saga: StoredSaga }[] = [];
  /** Found no slot, or no room: they stay offered. */
  private readonly turnedAway: Offer[] = [];
  /** The keys of SAGA_SLOTS of which all are taken. */
  private readonly full = new Set<string>();
  /** A large saga has found no room. */
  private heavy = false;
  /** The room that is left for large ones. Undefined: there is no bound. */
  private bytes: ClaimRequest['bytes'];
  private readonly until: number;
  /** The last claim of a large one. */
  private large: Promise<unknown> = Promise.resolve();
  private failure: unknown;
  /** When the last saga was claimed. */
  private at: number | undefined;

  constructor(
    private readonly request: ClaimRequest,
    private readonly calls: RestateCalls,
    private readonly offers: Offers,
    /** False: the saga that was claimed does not run now. */
    private readonly mayRun: (saga: StoredSaga) => Promise<boolean>,
  ) {
    this.bytes = request.bytes;
    this.until = performance.now() + Math.max(SHORTEST, request.lease.duration * SHARE);
  }

  async make(): Promise<Claim> {
    const { request, taken } = this;
    for (;;) {
      const before = taken.length;
      const limit = Math.min(AT_ONCE, request.limit - before);
      const offers = this.offers.take({ ...request, limit }, this.heavy);
      // Calls that claim again and again leave room for what makes offers.
      if (offers.length === 0) await setImmediate();
      await Promise.all(this.inTurns(offers).map((turn) => this.takeInTurn(turn)));
      // Others take the places of those that have to wait for a lock, a slot, or room.
      const isFull = taken.length === request.limit;
      const areAllTaken = taken.length === before + offers.length && offers.length < limit;
      if (isFull || areAllTaken || this.isLate || this.failure !== undefined) return this.end();
    }
  }

  /** Sagas that were taken first wait for the last ones, and their leases run. */
  private get isLate(): boolean {
    return performance.now() > this.until;
  }

  private end(): Claim {
    const { request, heavy, failure } = this;
    // The answers come in any order.
    const sagas = this.taken.sort((one, other) => one.rank - other.rank).map(({ saga }) => saga);
    const now = this.at ?? this.calls.options.now();
    const nextDueAt = this.offers.hasFor(request.sagas) ? now : undefined;
    for (const offer of this.turnedAway) this.offers.addAgain(offer);
    if (failure !== undefined && sagas.length === 0) throw failure as Error;
    return { sagas, now, nextDueAt, heavy, ...(failure !== undefined && { failure }) };
  }

  /** All at once, but those of a name with a limit one after the other: one that waits for its lock gives its slot to the next. */
  private inTurns(offers: readonly Offer[]): Offer[][] {
    const turns = new Map<string, Offer[]>();
    for (const offer of offers) {
      const key = this.limitOf(offer) ? offer.name : offer.id;
      turns.set(key, [...(turns.get(key) ?? []), offer]);
    }
    return [...turns.values()];
  }

  private async takeInTurn(offers: readonly Offer[]): Promise<void> {
    for (const offer of offers) {
      if (this.isLate) {
        this.offers.addAgain(offer);
        continue;
      }
      try {
        const claim = await (this.limitOf(offer) ? this.takeWithSlot(offer) : this.take(offer));
        for (const saga of claim?.sagas ?? []) this.taken.push({ rank: offer.rank, saga });
        if (claim?.heavy) this.turnedAway.push(offer);
      } catch (error) {
        this.failure = error;
        this.offers.addAgain(offer);
      }
    }
  }

  /** Undefined: it has no slot, or no need of one any more. */
  private async takeWithSlot(offer: Offer): Promise<Claim | undefined> {
    const { id, name, limitKey = '' } = offer;
    const { maxLeases, keyed } = this.limitOf(offer)!;
    const key = slotKey(name, keyed ? limitKey : undefined);
    if (!this.full.has(key)) {
      const { now } = this.calls.caller;
      const saga = (await this.calls.read(id))?.row.saga;
      if ((saga?.dueAt ?? Infinity) > now) return undefined;
      const slot = { id, epoch: saga!.epoch, until: now + CLAIMED_WITHIN };
      const slots = this.calls.options.ingress.client(SAGA_SLOTS, key);
      if (await slots.take({ slot, count: maxLeases!, now }, this.calls.opts)) {
        const claim = await this.take(offer, { epoch: slot.epoch, key, until: Date.now() + CLAIMED_WITHIN });
        if (!claim?.sagas.length) await slots.free({ id, now }, this.calls.opts);
        return claim;
      }
      this.full.add(key);
    }
    this.turnedAway.push(offer);
    return undefined;
  }

  /** Large sagas one after the other: each has the room that those before it have left. */
  private take(offer: Offer, slot?: ClaimedSlot): Promise<Claim | undefined> {
    if (!offer.isLarge) return this.claim(offer, slot);
    const taken = this.large.then(() => this.takeLarge(offer, slot));
    this.large = taken.catch(() => undefined);
    return taken;
  }

  private async takeLarge(offer: Offer, slot: ClaimedSlot | undefined): Promise<Claim | undefined> {
    // It passes none that came before it.
    if (this.heavy) return { sagas: [], now: this.calls.options.now(), heavy: true };
    const claim = await this.claim(offer, slot);
    const [saga] = claim?.sagas ?? [];
    if (saga && this.bytes) this.bytes = { room: this.bytes.room - sizeOfSaga(saga), alone: false };
    return claim;
  }

  private async claim({ id }: Offer, slot: ClaimedSlot | undefined): Promise<Claim | undefined> {
    const { now } = this.calls.caller;
    this.at = now;
    const args = [{ ...this.request, limit: 1, bytes: this.bytes }];
    const name = randomUUID();
    const answer = this.calls.change<Claim>(id, 'claim', args, { now, slot, claim: name });
    const claim = (
      await answer.catch((error: unknown) => {
        // It may have been made: a lease of which its worker does not know would run out, and count as lost.
        void this.calls.unclaim(id, name);
        throw error;
      })
    )?.result;
    if (claim?.heavy) this.heavy = true;
    const [saga] = claim?.sagas ?? [];
    return saga && !(await this.mayRun(saga)) ? { ...claim!, sagas: [] } : claim;
  }

  private limitOf({ name, version }: Offer) {
    return this.request.sagas.find(
      (saga) => saga.name === name && saga.version === version && saga.maxLeases !== undefined,
    );
  }
}
