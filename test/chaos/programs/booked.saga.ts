import { setTimeout as pause } from 'node:timers/promises';
import {
  Saga,
  Step,
  StepRejectedError,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';

/** Nothing keeps an entry from being there twice. */
export const BOOKED_TABLE = 'CREATE TABLE booked (saga_id uuid NOT NULL, entry text NOT NULL)';

export interface Booking {
  readonly n: number;
  readonly refused: boolean;
}
type Forward = TransactionalStepContext<Booking>;
type Back = TransactionalCompensationContext<Booking>;

/** Each step takes so long (ms) that a kill finds some of them in progress. */
const TAKES = 15;

/** Writes into the application's database only: all of it, or nothing that is left. */
@Saga({ name: 'booked' })
export class BookedSaga {
  @Step({ transactional: true, compensate: 'unreserve' })
  async reserve(ctx: Forward): Promise<string> {
    return enter(ctx, 'reserve');
  }
  async unreserve(ctx: Back): Promise<void> {
    await enter(ctx, 'unreserve');
  }

  @Step({ transactional: true, compensate: 'refund' })
  async charge(ctx: Forward): Promise<string> {
    return enter(ctx, 'charge');
  }
  async refund(ctx: Back): Promise<void> {
    await enter(ctx, 'refund');
  }

  @Step({ transactional: true })
  async ship(ctx: Forward): Promise<string> {
    await enter(ctx, 'ship');
    if (ctx.input.refused) throw new StepRejectedError('refused');
    return 'shipped';
  }
}

async function enter({ manager, sagaId }: Forward | Back, entry: string): Promise<string> {
  await manager.query('INSERT INTO booked (saga_id, entry) VALUES ($1, $2)', [sagaId, entry]);
  await pause(TAKES);
  return entry;
}
