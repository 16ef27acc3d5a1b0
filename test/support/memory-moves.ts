import type {
  Arrival,
  GroupMove,
  MovableSaga,
  MovedKeys,
  MovedNote,
  SagaMove,
  SagasOnTheirWay,
  SealedMove,
  ShardMoves,
  StayReason,
} from '../../libs/saga/src/engine/ports/shard-moves.js';
import type { StoreTarget } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { MemoryRow } from '../../libs/saga/src/store/memory/memory-row.js';
import { correlationKey, type MemoryRows } from '../../libs/saga/src/store/memory/memory-rows.js';
import type { MemorySagaStore } from '../../libs/saga/src/store/memory/memory-saga-store.js';

interface Note {
  move: SagaMove;
  state: MovedNote['state'];
  readonly row: MemoryRow;
}

/** Rows on their way between stores of one process, by the id of the move. */
const onTheirWay = new Map<string, MemoryRow>();

/** Moves between stores in memory, by the rules of PostgresMoves. Sagas without family and lock only: each moves alone. */
export class MemoryMoves implements ShardMoves {
  readonly notes = new Map<string, Note>();
  private readonly decided = new Map<string, 'arrived' | StayReason>();
  private readonly rows: MemoryRows;

  constructor(
    store: MemorySagaStore,
    private readonly shard: { readonly accepting: boolean },
    private readonly received: () => void,
  ) {
    this.rows = (store as unknown as { readonly index: MemoryRows }).index;
  }

  /** Whether a start is refused: the saga was moved to another shard. */
  refuses({ id, name, correlationId }: Pick<NewSaga, 'id' | 'name' | 'correlationId'>): boolean {
    const isHere =
      this.rows.byId.has(id) ||
      (correlationId !== undefined && this.rows.byCorrelation.has(keyOf({ name, correlationId })));
    const notes = [this.find({ id }), correlationId !== undefined && this.find({ name, correlationId })];
    return !isHere && notes.some((note) => note && note.state !== 'returned');
  }

  async candidates(after: string | undefined, limit: number): Promise<MovableSaga[]> {
    const ids = [...this.rows.byId.keys()].sort().filter((id) => after === undefined || id > after);
    return ids.slice(0, limit).map((id) => ({ ...keysOf(this.rows.byId.get(id)!), isGrouped: false }));
  }

  async group(saga: string): Promise<MovedKeys[]> {
    const row = this.rows.byId.get(saga);
    return row ? [keysOf(row)] : [];
  }

  async seal({ sagas: [saga], move, to }: GroupMove): Promise<SealedMove | 'gone' | 'accepting'> {
    const row = this.rows.byId.get(saga!);
    if (this.shard.accepting) return 'accepting';
    if (!row) return 'gone';
    this.rows.remove(row);
    const note: Note = { move: { saga: saga!, move, to }, state: 'sealed', row };
    this.notes.set(saga!, note);
    return sealedOf(note);
  }

  async sealed(limit: number): Promise<SealedMove[]> {
    return [...this.notes.values()]
      .filter(({ state }) => state === 'sealed')
      .slice(0, limit)
      .map(sealedOf);
  }

  async onTheirWay(): Promise<SagasOnTheirWay> {
    return { count: (await this.sealed(Infinity)).length, oldest: 0 };
  }

  async revisionOf(): Promise<number> {
    return 1;
  }

  async arrive({ move }: SealedMove, { isHome }: Arrival): Promise<'arrived' | StayReason> {
    const known = this.decided.get(move);
    if (known) return known;
    const row = onTheirWay.get(move)!;
    const key = keyOf(row.saga);
    const refusal = !this.shard.accepting
      ? 'no-shard'
      : row.saga.correlationId !== undefined && this.rows.byCorrelation.has(key)
        ? 'correlation-id'
        : undefined;
    this.decided.set(move, refusal ?? 'arrived');
    if (refusal) return refusal;
    this.rows.add(row);
    this.notes.delete(row.saga.id);
    if (!isHome) this.received();
    return 'arrived';
  }

  async refuse({ move }: SealedMove, reason: StayReason): Promise<'arrived' | StayReason> {
    const known = this.decided.get(move) ?? reason;
    this.decided.set(move, known);
    return known;
  }

  async handOver({ sagas: [saga], move }: SealedMove): Promise<void> {
    const note = this.notes.get(saga!.id);
    if (note?.move.move === move && note.state === 'sealed') note.state = 'handed';
  }

  async putBack({ sagas: [saga], move }: SealedMove): Promise<void> {
    const note = this.notes.get(saga!.id);
    if (note?.move.move !== move || note.state !== 'sealed') return;
    note.state = 'returned';
    this.rows.add(note.row);
  }

  async noteOf(target: StoreTarget): Promise<MovedNote | undefined> {
    const note = this.find(target);
    return note && { ...note.move, state: note.state };
  }

  async forget({ saga }: SagaMove): Promise<void> {
    if (this.notes.get(saga)?.state === 'handed') this.notes.delete(saga);
  }

  async columns(): Promise<string> {
    return '';
  }

  private find(target: StoreTarget): Note | undefined {
    if ('id' in target) return this.notes.get(target.id);
    const { name, correlationId } = target;
    const all = [...this.notes.values()].filter(
      ({ row }) => row.saga.name === name && row.saga.correlationId === correlationId,
    );
    return all.find(({ state }) => state !== 'returned') ?? all[0];
  }
}

function sealedOf({ move: { move, to }, row }: Note): SealedMove {
  onTheirWay.set(move, row);
  return { move, to, sagas: [{ ...keysOf(row), version: row.saga.version, graph: '', rows: '' }] };
}

function keysOf({ saga: { id, name, correlationId } }: MemoryRow): MovedKeys {
  return { id, name, ...(correlationId !== undefined && { correlationId }) };
}

function keyOf(saga: { readonly name: string; readonly correlationId?: string | undefined }): string {
  return saga.correlationId === undefined ? '' : correlationKey(saga.name, saga.correlationId);
}
