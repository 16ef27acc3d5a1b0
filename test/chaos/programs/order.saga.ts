import {
  Saga,
  Step,
  StepRejectedError,
  type CompensationContext,
  type StepContext,
} from 'nestjs-durable-saga';
import { Participants } from './participants.js';

export interface ChaosOrder {
  n: number;
  /** The last step refuses it: everything has to be undone. */
  refused: boolean;
  /** The second step's first attempt fails. */
  shaky: boolean;
  /** Its third step's first call holds the process, until that is killed. */
  held?: boolean;
}

interface Receipt {
  receipt: string;
}

type Compensation = CompensationContext<ChaosOrder, Receipt>;

@Saga({
  name: 'chaos-order',
  retry: { attempts: 5, delay: 30 },
  compensationRetry: { attempts: 20, delay: 30 },
})
export class ChaosOrderSaga {
  constructor(private readonly participants: Participants) {}

  @Step({ compensate: 'undo' })
  reserve(ctx: StepContext<ChaosOrder>): Promise<Receipt> {
    return this.perform(ctx);
  }

  @Step({ compensate: 'undo' })
  async charge(ctx: StepContext<ChaosOrder>): Promise<Receipt> {
    if (ctx.input.shaky && ctx.attempt === 1) throw new Error('try again');
    return this.perform(ctx);
  }

  @Step({ compensate: 'undo' })
  ship(ctx: StepContext<ChaosOrder>): Promise<Receipt> {
    return this.perform(ctx, ctx.input.held);
  }

  @Step({ compensate: 'undo' })
  confirm(ctx: StepContext<ChaosOrder>): Promise<Receipt> {
    if (ctx.input.refused) throw new StepRejectedError('refused');
    return this.perform(ctx);
  }

  async undo(ctx: Compensation): Promise<void> {
    const { idempotencyKey, sagaId, step, result } = ctx;
    await this.participants.apply({
      idempotencyKey,
      sagaId,
      step,
      compensation: true,
      knownResult: result?.receipt,
    });
  }

  private perform({ idempotencyKey, sagaId, step }: StepContext<ChaosOrder>, held = false): Promise<Receipt> {
    return this.participants.apply({ idempotencyKey, sagaId, step, compensation: false, held });
  }
}
