import { SagaShardUnavailableError, SagaStateError } from '../errors.js';
import type {
  MovableSaga,
  MovedKeys,
  SealedMove,
  SealedSaga,
  ShardMoves,
  StayReason,
} from '../engine/ports/shard-moves.js';
import { newId } from '../shared/new-id.js';
import { homeKeyOf } from './find-shard.js';
import { ranked } from './rendezvous.js';

/** A shard in a move, as its database describes it now. */
export interface MovingShard {
  readonly name: string;
  readonly accepting: boolean;
  /** Undefined: it cannot be reached. */
  readonly moves?: ShardMoves;
}

export interface MoveRequest {
  /** The shard that is to be emptied. */
  readonly from: MovingShard & { readonly moves: ShardMoves };
  /** All shards of the application. */
  readonly shards: readonly MovingShard[];
  /**
   * The shard to which all sagas move. Default: each moves to the home of its lock key, or else of its correlation id, or else
   * of its id.
   */
  readonly to?: MovingShard | undefined;
  /** The maximum number of sagas that are moved. */
  readonly limit: number;
  /** False: there may be shards that are not among `shards`, so that no home is known. */
  readonly knowsAll: boolean;
}

/** What `SagaService.moveSagas()` returns. */
export interface MoveResult {
  /** The number of sagas that have moved, by the name of their new shard. */
  readonly moved: Readonly<Record<string, number>>;
  /** The number of sagas that stay, by the reason. */
  readonly stayed: Readonly<Partial<Record<StayReason, number>>>;
  /** Whether the limit was reached before all sagas of the shard were looked at. */
  readonly more: boolean;
}

const PAGE = 200;
/** Notes that are read at once, with all rows of the sagas that move with them. */
const NOTES = 20;

/**
 * Moves sagas off a drained shard, one after the other: a family together, and so all sagas in the queue of a lock. What an earlier call has left on its way is moved first. A call that
 * ends at any point leaves each saga on one shard, or on its way, and the next call continues.
 * @throws SagaStateError if the shard accepts sagas, or the tables of two shards differ
 */
export async function moveSagas(request: MoveRequest): Promise<MoveResult> {
  return new SagaMover(request).run();
}

/**
 * Finishes moves that were interrupted: of sagas that left the shard at least `minAge` ms ago. A move that another process
 * still makes is finished once, by either. Sagas whose new shard cannot be reached, or is not known, stay on their way.
 * @returns how many sagas are on a shard again
 */
export async function finishMoves(
  { from, shards }: Pick<MoveRequest, 'from' | 'shards'>,
  minAge: number,
): Promise<number> {
  const sealed = await from.moves.sealed(NOTES, minAge);
  const reached = sealed.filter(({ to }) => shards.some(({ name, moves }) => name === to && moves));
  const mover = new SagaMover({ from, shards, limit: Infinity, knowsAll: true });
  for (const move of reached) await mover.finish(move);
  return reached.reduce((sum, { sagas }) => sum + sagas.length, 0);
}

class SagaMover {
  private readonly moved: Record<string, number> = {};
  private readonly stayed: Partial<Record<StayReason, number>> = {};
  private count = 0;
  /** By the name of the shard and the graph. */
  private readonly revisions = new Map<string, number | undefined>();
  /** Sagas whose graph a shard does not have: shard, name and version. */
  private readonly unknown = new Set<string>();
  private readonly checked = new Set<string>();
  /** The ids of sagas of groups that have moved, or were counted. */
  private readonly seen = new Set<string>();

  constructor(private readonly request: MoveRequest) {}

  async run(): Promise<MoveResult> {
    const { from } = this.request;
    for (
      let sealed = await from.moves.sealed(NOTES);
      sealed.length > 0;
      sealed = await from.moves.sealed(NOTES)
    )
      for (const move of sealed) await this.finish(move);
    if (from.accepting) throw stillAccepts(from.name);
    const more = await this.moveAll();
    return { moved: this.moved, stayed: this.stayed, more };
  }

  /** @returns whether the limit was reached */
  private async moveAll(): Promise<boolean> {
    const { from, limit } = this.request;
    let after: string | undefined;
    for (;;) {
      const page = await from.moves.candidates(after, PAGE);
      for (const saga of page) {
        if (this.seen.has(saga.id)) continue;
        if (saga.stays) {
          this.stay(saga.stays, saga.isGrouped ? [saga] : undefined);
          continue;
        }
        if (this.count >= limit) return true;
        await this.move(saga);
      }
      if (page.length < PAGE) return false;
      after = page.at(-1)!.id;
    }
  }

  private async move(saga: MovableSaga): Promise<void> {
    const { from } = this.request;
    const group = saga.isGrouped ? await from.moves.group(saga.id) : [saga];
    if (group === 'too-many') return this.stay(group, [saga]);
    const leader = group.find(({ parentId }) => parentId === undefined) ?? group[0];
    if (!leader) return;
    const to = this.request.to ?? this.homeOf(homeKeyOf(leader));
    if (!to?.accepting || !to.moves || to.name === from.name) return this.stay('no-shard', group);
    await this.checkTables(to.name, to.moves);
    if (group.some(({ name }) => this.unknown.has(`${to.name} ${name}`))) return this.stay('graph', group);
    const sealed = await from.moves.seal({ sagas: group.map(({ id }) => id), move: newId(), to: to.name });
    if (sealed === 'accepting') throw stillAccepts(from.name);
    if (sealed === 'gone') return;
    if (typeof sealed === 'string') return this.stay(sealed, group);
    await this.finish(sealed);
  }

  /** From here on, the move is repeated until it has arrived or was refused, however often it is cut off. */
  async finish(move: SealedMove): Promise<void> {
    const { from, shards } = this.request;
    const { sagas } = move;
    const to = shards.find(({ name }) => name === move.to);
    if (!to?.moves) throw cannotFinish(move, from.name);
    await this.checkTables(to.name, to.moves);
    const revisions: number[] = [];
    let unknown: SealedSaga | undefined;
    for (const saga of sagas) {
      const revision = await this.revisionOn(to.name, to.moves, saga);
      if (revision === undefined) unknown = saga;
      else revisions.push(revision);
    }
    const isHome = this.request.knowsAll && sagas.every((saga) => this.isFoundOn(to, saga));
    const result = unknown
      ? await to.moves.refuse(move, 'graph')
      : await to.moves.arrive(move, { revisions, isHome });
    if (result === 'arrived') {
      await from.moves.handOver(move);
      this.moved[to.name] = (this.moved[to.name] ?? 0) + sagas.length;
      this.count += sagas.length;
      if (sagas.length > 1) for (const { id } of sagas) this.seen.add(id);
    } else {
      if (unknown) this.unknown.add(`${to.name} ${unknown.name}`);
      await from.moves.putBack(move);
      this.stay(result, sagas);
    }
  }

  /**
   * Whether starts with the keys of a saga look for it on a shard. With a lock key they look on all of them; a sub-saga is
   * started by its parent only.
   */
  private isFoundOn(to: MovingShard, saga: SealedSaga): boolean {
    const { lockKey, parentId, correlationId } = saga;
    if (lockKey !== undefined || (parentId !== undefined && correlationId === undefined)) return true;
    return this.homeOf(homeKeyOf(saga)) === to;
  }

  /** Undefined: no shard accepts sagas. One that cannot be reached counts as one that accepts. */
  private homeOf(key: string): MovingShard | undefined {
    const { from, shards } = this.request;
    return ranked(shards, key).find((shard) => shard.accepting && shard.name !== from.name);
  }

  private async revisionOn(to: string, moves: ShardMoves, sealed: SealedSaga): Promise<number | undefined> {
    const key = `${to} ${sealed.name} ${sealed.version} ${sealed.graph}`;
    if (!this.revisions.has(key)) this.revisions.set(key, await moves.revisionOf(sealed));
    return this.revisions.get(key);
  }

  /** @throws SagaStateError if rows of one shard do not fit the tables of the other */
  private async checkTables(to: string, moves: ShardMoves): Promise<void> {
    if (this.checked.has(to)) return;
    const { from } = this.request;
    if ((await from.moves.columns()) !== (await moves.columns()))
      throw new SagaStateError(
        `moveSagas(): the tables of shard '${from.name}' and shard '${to}' differ: they were made by different versions. ` +
          `Migrate both to the same version first.`,
      );
    this.checked.add(to);
  }

  /** @param group the sagas that stay together, each of which is counted once. Default: it is one without others */
  private stay(reason: StayReason, group?: readonly MovedKeys[]): void {
    const counted = group?.filter(({ id }) => !this.seen.has(id));
    this.stayed[reason] = (this.stayed[reason] ?? 0) + (counted?.length ?? 1);
    for (const { id } of counted ?? []) this.seen.add(id);
  }
}

function stillAccepts(shard: string): SagaStateError {
  return new SagaStateError(
    `moveSagas(): shard '${shard}' accepts new sagas. Call drain('${shard}') first, so that none start there.`,
  );
}

function cannotFinish({ sagas, to }: SealedMove, from: string): SagaShardUnavailableError {
  return new SagaShardUnavailableError(
    `moveSagas(): saga ${sagas[0]!.id} is on its way from shard '${from}' to shard '${to}', which cannot be reached, or is not ` +
      `among the shards. Repeat the call with this shard: the move continues.`,
    to,
  );
}
