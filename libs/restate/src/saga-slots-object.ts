import { implement, type ObjectContext, type ObjectSharedContext } from '@restatedev/restate-sdk';
import { SAGA, SAGA_SLOTS, type SagaSlot } from './contracts.js';
import { hasRunOut } from './kept-saga.js';
import { timeOf } from './latest-time.js';
import { readRows } from './limit-object.js';
import { OPTIONS } from './object-options.js';
import { textOf } from './stored-text.js';

/** Sagas that are let know when a slot is free. The others are offered again after a while. */
const WAITING = 1_000;

interface KeptSlots {
  readonly slots: readonly SagaSlot[];
  /** Sagas that found no slot. */
  readonly waiting: readonly string[];
  /** The limit of the last claim. */
  readonly count: number;
}

/** The object of a limit of sagas. It asks the objects of sagas, and none of them waits for it. */
export function sagaSlotsObject() {
  return implement(SAGA_SLOTS, {
    options: OPTIONS,
    handlers: {
      take: async (ctx, { slot, count, now: asked }) => {
        const now = await timeOf(ctx, asked);
        const { slots, waiting } = await keptOf(ctx);
        for (let isFirst = true; ; isFirst = false) {
          const others = slots.filter(({ id }) => id !== slot.id);
          const { held, expired } = await seen(ctx, others, now);
          const tooMany = held.length + expired.length + 1 - count;
          if (tooMany > expired.length) {
            const still = [...waiting.filter((id) => id !== slot.id), slot.id].slice(0, WAITING);
            keep(ctx, { slots: [...held, ...expired], waiting: still, count });
            return false;
          }
          if (tooMany <= 0) {
            const left = waiting.filter((id) => id !== slot.id);
            keep(ctx, { slots: [...held, ...expired, slot], waiting: left, count });
            return true;
          }
          // One that was renewed meanwhile is held, and is found to be.
          for (const { id, epoch } of expired.slice(0, isFirst ? tooMany : undefined))
            await ctx.client(SAGA, id).fence({ epoch: epoch + 1, now });
        }
      },
      free: async (ctx, { id, now }) => {
        const { slots, waiting, count } = await keptOf(ctx);
        const rows = await readRows(ctx, [id]);
        const isUnused = (slot: SagaSlot) => slot.id === id && rows.get(id)?.saga.epoch === slot.epoch;
        const { held, expired } = await seen(
          ctx,
          slots.filter((slot) => !isUnused(slot)),
          now,
        );
        const room = Math.max(0, count - held.length);
        for (const next of waiting.slice(0, room)) ctx.sendClient(SAGA, next).offer({ now });
        keep(ctx, { slots: [...held, ...expired], waiting: waiting.slice(room), count });
      },
      taken: async (ctx, { now }) => (await seen(ctx, (await keptOf(ctx)).slots, now)).held.length,
    },
  });
}

/** The slots that are still taken: under a valid lease, or for a claim that may come; and under leases that have expired. */
async function seen(ctx: ObjectSharedContext, slots: readonly SagaSlot[], now: number) {
  const rows = await readRows(
    ctx,
    slots.map(({ id }) => id),
  );
  const held: SagaSlot[] = [];
  const expired: SagaSlot[] = [];
  for (const slot of slots) {
    const row = rows.get(slot.id);
    if (row?.saga.epoch === slot.epoch && now < slot.until) held.push(slot);
    else if (row?.saga.epoch === slot.epoch + 1 && row.saga.lockedBy !== undefined)
      (hasRunOut(row, now) ? expired : held).push(slot);
  }
  return { held, expired };
}

async function keptOf(ctx: ObjectSharedContext): Promise<KeptSlots> {
  return (await ctx.get('slots', textOf<KeptSlots>())) ?? { slots: [], waiting: [], count: 0 };
}

function keep(ctx: ObjectContext, kept: KeptSlots): void {
  if (kept.slots.length + kept.waiting.length > 0) ctx.set('slots', kept, textOf<KeptSlots>());
  else ctx.clearAll();
}
