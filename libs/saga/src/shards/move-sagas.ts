import { SagaShardUnavailableError, SagaStateError } from '../errors.js';
import type { MovableSaga, SealedSaga, ShardMoves, StayReason } from '../engine/ports/shard-moves.js';
import { newId } from '../shared/new-id.js';
import { keyOf } from './find-shard.js';
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
  /** The shard to which all sagas move. Default: each moves to the home of its correlation id, or else of its id. */
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

/**
 * Moves sagas off a drained shard, one after the other. What an earlier call has left on its way is moved first. A call that
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
  const sealed = await from.moves.sealed(PAGE, minAge);
  const reached = sealed.filter(({ to }) => shards.some(({ name, moves }) => name === to && moves));
  const mover = new SagaMover({ from, shards, limit: Infinity, knowsAll: true });
  for (const saga of reached) await mover.finish(saga);
  return reached.length;
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

  constructor(private readonly request: MoveRequest) {}

  async run(): Promise<MoveResult> {
    const { from } = this.request;
    for (
      let sealed = await from.moves.sealed(PAGE);
      sealed.length > 0;
      sealed = await from.moves.sealed(PAGE)
    )
      for (const saga of sealed) await this.finish(saga);
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
        if (saga.stays) {
          this.stay(saga.stays);
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
    const to = this.request.to ?? this.homeOf(saga);
    if (!to?.accepting || !to.moves || to.name === from.name) return this.stay('no-shard');
    await this.checkTables(to.name, to.moves);
    if (this.unknown.has(`${to.name} ${saga.name}`)) return this.stay('graph');
    const sealed = await from.moves.seal({ saga: saga.id, move: newId(), to: to.name });
    if (sealed === 'accepting') throw stillAccepts(from.name);
    if (sealed === 'gone') return;
    if (typeof sealed === 'string') return this.stay(sealed);
    await this.finish(sealed);
  }

  /** From here on, the move is repeated until it has arrived or was refused, however often it is cut off. */
  async finish(sealed: SealedSaga): Promise<void> {
    const { from, shards } = this.request;
    const to = shards.find(({ name }) => name === sealed.to);
    if (!to?.moves) throw cannotFinish(sealed, from.name);
    await this.checkTables(to.name, to.moves);
    const revision = await this.revisionOn(to.name, to.moves, sealed);
    const isHome = this.request.knowsAll && this.homeOf(keysOf(sealed)) === to;
    const result =
      revision === undefined
        ? await to.moves.refuse(sealed, 'graph')
        : await to.moves.arrive(sealed, { revision, isHome });
    if (result === 'arrived') {
      await from.moves.handOver(sealed);
      this.moved[to.name] = (this.moved[to.name] ?? 0) + 1;
      this.count += 1;
    } else {
      if (result === 'graph') this.unknown.add(`${to.name} ${sealed.name}`);
      await from.moves.putBack(sealed);
      this.stay(result);
    }
  }

  /** Undefined: no shard accepts sagas. One that cannot be reached counts as one that accepts. */
  private homeOf(saga: Pick<MovableSaga, 'id' | 'name' | 'correlationId'>): MovingShard | undefined {
    const { from, shards } = this.request;
    const { id, name, correlationId } = saga;
    const key = keyOf(correlationId === undefined ? { id } : { name, correlationId });
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

  private stay(reason: StayReason): void {
    this.stayed[reason] = (this.stayed[reason] ?? 0) + 1;
  }
}

function keysOf({
  saga: id,
  name,
  correlationId,
}: SealedSaga): Pick<MovableSaga, 'id' | 'name' | 'correlationId'> {
  return { id, name, ...(correlationId !== null && { correlationId }) };
}

function stillAccepts(shard: string): SagaStateError {
  return new SagaStateError(
    `moveSagas(): shard '${shard}' accepts new sagas. Call drain('${shard}') first, so that none start there.`,
  );
}

function cannotFinish({ saga, to }: SealedSaga, from: string): SagaShardUnavailableError {
  return new SagaShardUnavailableError(
    `moveSagas(): saga ${saga} is on its way from shard '${from}' to shard '${to}', which cannot be reached, or is not ` +
      `among the shards. Repeat the call with this shard: the move continues.`,
    to,
  );
}
