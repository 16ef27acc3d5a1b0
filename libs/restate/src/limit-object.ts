import {
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  RestatePromise,
} from '@restatedev/restate-sdk';
import {
  type Given,
  MemoryRates,
  type MemoryRow,
  MemoryStepSlots,
  type Place,
  waitsUntil,
} from 'nestjs-durable-saga/internal/backend';
import { LIMIT, SAGA } from './contracts.js';
import { hasRunOut } from './kept-saga.js';
import { timeOf } from './latest-time.js';
import { OPTIONS } from './object-options.js';
import { textOf } from './stored-text.js';

/** Sagas that wait for a time and are asked whether they still do: those of the next times. */
const ASKED = 100;

/** The rules of the store in memory want to know something of a saga that was not read yet. */
class Unread extends Error {
  constructor(readonly id: string) {
    super(`Saga ${id} was not read`);
  }
}

/** The sagas that were read. */
class ReadRows extends Map<string, MemoryRow | undefined> {
  override get(id: string): MemoryRow | undefined {
    if (!this.has(id)) throw new Unread(id);
    return super.get(id);
  }
}

/** The object of a limit. It asks the objects of sagas, and none of them asks it: no two wait for each other. */
export function limitObject() {
  return implement(LIMIT, {
    options: OPTIONS,
    handlers: {
      reserve: async (ctx, { limit, attempts, now: asked }) => {
        const now = await timeOf(ctx, asked);
        const given = (await ctx.get('given', textOf<readonly Given[]>())) ?? [];
        const pending = given.filter(({ at, isUsed, holder }) => holder !== undefined && !isUsed && at > now);
        const rows = await readRows(
          ctx,
          pending.slice(0, ASKED).map(({ holder }) => holder!),
        );
        const waits = (id: string, at: number) => !rows.has(id) || waitsUntil(rows.get(id), at);
        const kept = new Map([[ctx.key, given]]);
        const reservation = new MemoryRates(waits, kept).reserve(limit, attempts, now);
        ctx.set('given', kept.get(ctx.key)!, textOf<readonly Given[]>());
        return reservation;
      },
      take: async (ctx, { limit, holder, steps, now }) =>
        change(ctx, now, (slots) => slots.take(limit, holder, steps)),
      free: async (ctx, { limit, holder, steps, now }) =>
        change(ctx, now, (slots) => slots.free(limit, holder, steps)),
      sweep: async (ctx, { sagas, now }) => {
        await endLeases(ctx, now);
        await change(ctx, now, (slots) => slots.sweep(sagas));
      },
    },
  });
}

/** Runs the rules of the store in memory on the places of this limit, and on those sagas that they want to know of. */
async function change<T>(
  ctx: ObjectContext,
  now: number,
  work: (slots: MemoryStepSlots) => Promise<T>,
): Promise<T> {
  const before = await placesOf(ctx);
  // The rules look at each that has a slot; of the others, at some.
  const rows = await readRows(ctx, idsOf(takenOf(before)));
  for (;;) {
    const places = new Map(before.length > 0 ? [[ctx.key, structuredClone(before) as Place[]]] : []);
    const woken = new Map<string, number>();
    try {
      const result = await work(
        new MemoryStepSlots(
          rows as ReadonlyMap<string, MemoryRow>,
          () => now,
          (id, since) => woken.set(id, since),
          places,
        ),
      );
      const after = places.get(ctx.key) ?? [];
      if (after.length > 0) ctx.set('places', after, textOf<readonly Place[]>());
      else ctx.clear('places');
      await RestatePromise.all([...woken].map(([id, since]) => ctx.client(SAGA, id).wake({ now, since })));
      return result;
    } catch (error) {
      if (!(error instanceof Unread)) throw error;
      for (const [id, row] of await readRows(ctx, [error.id])) rows.set(id, row);
    }
  }
}

/** Ends the leases that have run out under which slots were taken. */
async function endLeases(ctx: ObjectContext, now: number): Promise<void> {
  const taken = takenOf(await placesOf(ctx));
  const rows = await readRows(ctx, idsOf(taken));
  for (const { id, epoch } of taken) {
    const row = rows.get(id);
    if (row?.saga.epoch === epoch && hasRunOut(row, now)) await ctx.client(SAGA, id).fence({ epoch, now });
  }
}

function takenOf(places: readonly Place[]): Place[] {
  return places.filter(({ state }) => state === 'taken');
}

function idsOf(places: readonly Place[]): string[] {
  return places.map(({ id }) => id);
}

async function placesOf(ctx: ObjectContext): Promise<readonly Place[]> {
  return (await ctx.get('places', textOf<readonly Place[]>())) ?? [];
}

export async function readRows(ctx: ObjectSharedContext, ids: readonly string[]): Promise<ReadRows> {
  const once = [...new Set(ids)];
  const kept = await RestatePromise.all(once.map((id) => ctx.client(SAGA, id).read()));
  return new ReadRows(once.map((id, n) => [id, kept[n]?.row]));
}
