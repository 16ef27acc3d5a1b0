import assert from 'node:assert/strict';
import { Injectable } from '@nestjs/common';
import {
  type CompensationContext,
  type ForEachContext,
  type ItemCompensationContext,
  type RemoteInput,
  RemoteStep,
  Saga,
  type SagaOperations,
  type SagaService,
  SagaStateError,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
  SubSaga,
  type SubSagaInput,
  type TransactionalCompensationContext,
  type TransactionalHandlerCompensationContext,
  type TransactionalHandlerContext,
  type TransactionalStepContext,
  UnknownOutcomeError,
  WaitFor,
} from 'nestjs-durable-saga';
import type { DataSource } from 'typeorm';
import { eventually, gate } from '../eventually.js';

interface Input {
  readonly id: string;
  readonly fails?: string;
}
type Ctx = StepContext<Input>;

/** What was done, by the sagas' inputs. */
const done = new Map<string, string[]>();
const note = (id: string, what: string): string => {
  done.set(id, [...(done.get(id) ?? []), what]);
  return what;
};
const doneOf = (id: string): string[] => done.get(id) ?? [];
const fail = ({ input }: { readonly input: Input }, at: string): void => {
  if (input.fails === at) throw new StepRejectedError(`no ${at}`);
};

/** Two branches at once, and a step after both. */
@Saga()
class WavesSaga {
  @Step({ after: [], compensate: 'undoLeft' }) async left(ctx: Ctx) {
    meeting.arrive();
    await meeting.both;
    return note(ctx.input.id, 'left');
  }
  undoLeft(ctx: CompensationContext<Input, string>) {
    note(ctx.input.id, `undo ${ctx.result}`);
  }
  @Step({ after: [], compensate: 'undoRight' }) async right(ctx: Ctx) {
    meeting.arrive();
    await meeting.both;
    return note(ctx.input.id, 'right');
  }
  undoRight(ctx: CompensationContext<Input, string>) {
    note(ctx.input.id, `undo ${ctx.result}`);
  }
  @Step({ after: ['left', 'right'] }) both(ctx: StepContext<Input, WavesSaga>) {
    note(ctx.input.id, `${ctx.results.left} and ${ctx.results.right}`);
    fail(ctx, 'both');
  }
}
/** Resolves once two have arrived, each time. */
const meeting = {
  count: 0,
  both: undefined as Promise<void> | undefined,
  go: () => undefined as void,
  arrive(): void {
    if (this.count++ % 2 === 0) {
      const { opened, open } = gate();
      this.both = opened;
      this.go = open;
    } else this.go();
  },
};

/** The first of two answers. The other one is undone. */
@Saga()
class RaceSaga {
  @Step({ after: [], compensate: 'undo' }) fast(ctx: Ctx) {
    return note(ctx.input.id, 'fast');
  }
  @Step({ after: [], compensate: 'undo' }) async slow(ctx: Ctx) {
    await slowOnes.opened;
    return note(ctx.input.id, 'slow');
  }
  undo(ctx: CompensationContext<Input, string>) {
    note(ctx.input.id, `undo ${ctx.step}`);
  }
  @Step({ after: ['fast', 'slow'], join: 'any' }) take(ctx: StepContext<Input, RaceSaga>): string {
    slowOnes.open();
    return note(ctx.input.id, `took ${ctx.results.fast}`);
  }
}
const slowOnes = gate();

@Saga()
class ItemsSaga {
  @Step({
    forEach: ({ input }: Ctx) => [1, 2, 3].map((n) => `${input.id} ${n}`),
    itemsAtOnce: 2,
    compensate: 'undo',
  })
  ship(ctx: ForEachContext<Input, string>) {
    note(ctx.input.id, `ship ${ctx.index}`);
    return ctx.item;
  }
  undo(ctx: ItemCompensationContext<Input, string, string>) {
    note(ctx.input.id, `undo ${ctx.index}`);
  }
  @Step() end(ctx: StepContext<Input, ItemsSaga>) {
    fail(ctx, 'end');
    return ctx.results.ship.length;
  }
}

/** Carrier A fails after it has booked; carrier B is taken in the second round. */
@Saga()
class SavepointSaga {
  @Step({ compensate: 'refund', savepoint: true }) charge(ctx: Ctx) {
    return note(ctx.input.id, `charge ${ctx.round}`);
  }
  refund(ctx: CompensationContext<Input>) {
    note(ctx.input.id, 'refund');
  }
  @Step({ compensate: 'unbook' }) book(ctx: Ctx) {
    return note(ctx.input.id, `book ${ctx.round} ${ctx.idempotencyKey.endsWith('~2')}`);
  }
  unbook(ctx: CompensationContext<Input>) {
    note(ctx.input.id, 'unbook');
  }
  @Step() handOver(ctx: Ctx) {
    if (ctx.round === 1) throw new StepRejectedError('not in the first round');
    return 'handed over';
  }
}

@Saga()
class PivotSaga {
  @Step({ compensate: 'unblock' }) block(ctx: Ctx) {
    return note(ctx.input.id, 'block');
  }
  unblock(ctx: CompensationContext<Input>) {
    note(ctx.input.id, 'unblock');
  }
  @Step({ pivot: true }) transfer(ctx: Ctx) {
    fail(ctx, 'transfer');
    return note(ctx.input.id, 'transfer');
  }
  @Step() tell(ctx: Ctx) {
    if (!told.has(ctx.input.id)) throw new StepRejectedError('there is no answer');
    return 'told';
  }
}
const told = new Set<string>();

/** Not called again after an unknown outcome: the probe says what became of it. */
@Saga()
class ProbeSaga {
  @Step({ idempotent: false, probe: 'isCharged' }) charge(ctx: Ctx): string {
    note(ctx.input.id, `charge ${ctx.attempt}`);
    throw new UnknownOutcomeError('the line is dead');
  }
  isCharged(ctx: Ctx) {
    note(ctx.input.id, 'probe');
    return { done: 'charged' };
  }
}

@Saga()
class OptionalSaga {
  @Step({ onFailure: 'continue' }) recommend(ctx: Ctx): string {
    note(ctx.input.id, 'recommend');
    throw new StepRejectedError('out of ideas');
  }
  @Step() end(ctx: StepContext<Input, OptionalSaga>) {
    return ctx.results.recommend === undefined ? 'without' : 'with';
  }
}

@Saga()
class ChildSaga {
  @Step({ compensate: 'undo' }) work(ctx: Ctx) {
    fail(ctx, 'work');
    return note(ctx.input.id, 'child');
  }
  undo(ctx: CompensationContext<Input>) {
    note(ctx.input.id, 'undo child');
  }
}
@Saga()
class ParentSaga {
  @SubSaga(() => ChildSaga) child(ctx: Ctx): SubSagaInput<ChildSaga> {
    return ctx.input;
  }
  @Step() end(ctx: StepContext<Input, ParentSaga>) {
    fail(ctx, 'end');
    return ctx.results.child.work;
  }
}

declare module 'nestjs-durable-saga' {
  interface StepContracts {
    'scene.reserve'(input: Input): { readonly reserved: string };
  }
}
@Injectable()
class Handlers {
  @StepHandler('scene.reserve', { compensate: 'release', transactional: true })
  async reserve(ctx: TransactionalHandlerContext<Input>): Promise<{ readonly reserved: string }> {
    await ctx.manager.query('INSERT INTO scene_entry VALUES ($1, $2)', [ctx.input.id, 'reserved']);
    return { reserved: ctx.input.id };
  }
  async release(
    ctx: TransactionalHandlerCompensationContext<Input, { readonly reserved: string }>,
  ): Promise<void> {
    await ctx.manager.query('INSERT INTO scene_entry VALUES ($1, $2)', [ctx.input.id, 'released']);
  }
}
@Saga()
class RemoteSaga {
  @RemoteStep('scene.reserve') reserve(ctx: Ctx): RemoteInput<'scene.reserve'> {
    return ctx.input;
  }
  @Step() end(ctx: StepContext<Input, RemoteSaga>) {
    fail(ctx, 'end');
    return ctx.results.reserve.reserved;
  }
}

/** Writes into the application's database. */
@Saga()
class BookedSaga {
  @Step({ transactional: true, compensate: 'release' })
  async reserve(ctx: TransactionalStepContext<Input>): Promise<string> {
    await ctx.manager.query('INSERT INTO scene_entry VALUES ($1, $2)', [ctx.input.id, 'reserve']);
    return 'reserved';
  }
  async release(ctx: TransactionalCompensationContext<Input, string>): Promise<void> {
    await ctx.manager.query('INSERT INTO scene_entry VALUES ($1, $2)', [
      ctx.input.id,
      `release ${ctx.result}`,
    ]);
  }
  @WaitFor({ signal: 'go' }) go(_ctx: Ctx, payload: string): string {
    return payload;
  }
  @Step({ transactional: true, retry: { attempts: 2, delay: 1 } })
  async ship(ctx: TransactionalStepContext<Input>): Promise<number> {
    await ctx.manager.query('INSERT INTO scene_entry VALUES ($1, $2)', [ctx.input.id, 'ship']);
    if (ctx.attempt === 1) throw new Error('once');
    fail(ctx, 'ship');
    return ctx.attempt;
  }
}

export const graphProviders = [
  ...[WavesSaga, RaceSaga, ItemsSaga, SavepointSaga, PivotSaga, ProbeSaga, OptionalSaga],
  ...[ChildSaga, ParentSaga, RemoteSaga, BookedSaga, Handlers],
];

export async function waves(sagas: SagaService): Promise<void> {
  const completed = await sagas.start(WavesSaga, { id: 'waves' });
  assert.equal((await completed.outcome()).status, 'completed');
  assert.deepEqual(doneOf('waves').toSorted(), ['left', 'left and right', 'right']);
  const undone = await sagas.start(WavesSaga, { id: 'waves undone', fails: 'both' });
  assert.equal((await undone.outcome()).status, 'compensated');
  assert.deepEqual(doneOf('waves undone').slice(-2).toSorted(), ['undo left', 'undo right']);
}

export async function race(sagas: SagaService): Promise<void> {
  const { status, results } = await (await sagas.start(RaceSaga, { id: 'race' })).outcome();
  assert.deepEqual([status, results?.take], ['completed', 'took fast']);
  assert.equal(doneOf('race').includes('slow'), doneOf('race').includes('undo slow'));
}

export async function items(sagas: SagaService): Promise<void> {
  const completed = await (await sagas.start(ItemsSaga, { id: 'items' })).outcome();
  assert.deepEqual(completed.results, { ship: ['items 1', 'items 2', 'items 3'], end: 3 });
  const undone = await sagas.start(ItemsSaga, { id: 'items undone', fails: 'end' });
  assert.equal((await undone.outcome()).status, 'compensated');
  assert.deepEqual(doneOf('items undone').slice(3).toSorted(), ['undo 0', 'undo 1', 'undo 2']);
}

export async function savepoint(sagas: SagaService): Promise<void> {
  const { status } = await (await sagas.start(SavepointSaga, { id: 'savepoint' })).outcome();
  assert.equal(status, 'completed');
  assert.deepEqual(doneOf('savepoint'), ['charge 1', 'book 1 false', 'unbook', 'book 2 true']);
}

export async function pivot(sagas: SagaService, operations: SagaOperations): Promise<void> {
  const refused = await sagas.start(PivotSaga, { id: 'no pivot', fails: 'transfer' });
  assert.equal((await refused.outcome()).status, 'compensated');
  assert.deepEqual(doneOf('no pivot'), ['block', 'unblock']);
  const handle = await sagas.start(PivotSaga, { id: 'pivot' });
  assert.equal((await handle.outcome()).status, 'stuck');
  await assert.rejects(() => sagas.cancel(handle.id), SagaStateError);
  told.add('pivot');
  await operations.retry(handle.id, { by: 'ann' });
  assert.equal((await sagas.wait(handle.id)).status, 'completed');
  assert.deepEqual(doneOf('pivot'), ['block', 'transfer']);
}

export async function probe(sagas: SagaService): Promise<void> {
  const { status, results } = await (await sagas.start(ProbeSaga, { id: 'probe' })).outcome();
  assert.deepEqual([status, results?.charge], ['completed', 'charged']);
  assert.deepEqual(doneOf('probe'), ['charge 1', 'probe']);
}

export async function optional(sagas: SagaService): Promise<void> {
  const { status, results } = await (await sagas.start(OptionalSaga, { id: 'optional' })).outcome();
  assert.deepEqual([status, results?.end], ['completed', 'without']);
}

export async function subSagas(sagas: SagaService): Promise<void> {
  const completed = await (await sagas.start(ParentSaga, { id: 'family' })).outcome();
  assert.deepEqual([completed.status, completed.results?.end], ['completed', 'child']);
  const undone = await sagas.start(ParentSaga, { id: 'family undone', fails: 'end' });
  assert.equal((await undone.outcome()).status, 'compensated');
  assert.deepEqual(doneOf('family undone'), ['child', 'undo child']);
  const failed = await sagas.start(ParentSaga, { id: 'family failed', fails: 'work' });
  assert.equal((await failed.outcome()).status, 'compensated');
}

const entriesOf = async (source: DataSource, id: string): Promise<string[]> => {
  const rows = await source.query<{ entry: string }[]>('SELECT entry FROM scene_entry WHERE id = $1', [id]);
  return rows.map(({ entry }) => entry);
};

export async function remoteSteps(sagas: SagaService, source: DataSource): Promise<void> {
  const completed = await (await sagas.start(RemoteSaga, { id: 'remote' })).outcome();
  assert.deepEqual([completed.status, completed.results?.end], ['completed', 'remote']);
  const undone = await sagas.start(RemoteSaga, { id: 'remote undone', fails: 'end' });
  assert.equal((await undone.outcome()).status, 'compensated');
  assert.deepEqual(await entriesOf(source, 'remote'), ['reserved']);
  assert.deepEqual(await entriesOf(source, 'remote undone'), ['reserved', 'released']);
}

export async function transactions(sagas: SagaService, source: DataSource): Promise<void> {
  const start = (id: string, fails?: string) =>
    source.transaction(async (manager) => {
      await manager.query('INSERT INTO scene_entry VALUES ($1, $2)', [id, 'placed']);
      return sagas.start(BookedSaga, { id, fails }, { transaction: manager, correlationId: id });
    });
  for (const [id, fails] of [['booked'], ['booked undone', 'ship']] as const) {
    const handle = await start(id, fails);
    await source.transaction((manager) => sagas.signal(handle.id, 'go', 'now', { transaction: manager }));
    const { status } = await handle.outcome();
    assert.equal(status, fails ? 'compensated' : 'completed');
  }
  assert.deepEqual(await entriesOf(source, 'booked'), ['placed', 'reserve', 'ship']);
  assert.deepEqual(await entriesOf(source, 'booked undone'), ['placed', 'reserve', 'release reserved']);
  const rolledBack = source.transaction(async (manager) => {
    await sagas.start(BookedSaga, { id: 'never' }, { transaction: manager, correlationId: 'never' });
    throw new Error('no');
  });
  await assert.rejects(() => rolledBack, /no/);
  const cancelled = await start('booked cancelled');
  await eventually(async () => {
    const { waitingFor } = await sagas.get(cancelled.id);
    assert.equal(waitingFor?.kind, 'signal');
  });
  await sagas.cancel(cancelled.id);
  assert.equal((await cancelled.outcome()).status, 'compensated');
  assert.deepEqual(await entriesOf(source, 'booked cancelled'), ['placed', 'reserve', 'release reserved']);
  await assert.rejects(() => sagas.get({ saga: BookedSaga, correlationId: 'never' }), /No saga/);
}
