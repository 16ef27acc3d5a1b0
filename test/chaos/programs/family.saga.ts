import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type SubSagaInput,
} from 'nestjs-durable-saga';
import { Participants } from './participants.js';

export interface FamilyOrder {
  n: number;
  /** The last step refuses it: everything has to be undone, the finished shipment included. */
  refused: boolean;
  /** The shipment's last step refuses it. */
  undeliverable: boolean;
  /** The first call of this step, or of its undoing (`undo pack`), holds the process until that is killed. */
  held?: string;
}

abstract class ParticipantsSaga {
  constructor(private readonly participants: Participants) {}

  protected perform({ idempotencyKey, sagaId, step, input }: StepContext<FamilyOrder>) {
    const held = input.held === step;
    return this.participants.apply({ idempotencyKey, sagaId, step, compensation: false, held });
  }

  async undo(ctx: CompensationContext<FamilyOrder, { receipt: string }>): Promise<void> {
    const { idempotencyKey, sagaId, step, result, input } = ctx;
    const held = input.held === `undo ${step}`;
    await this.participants.apply({
      ...{ idempotencyKey, sagaId, step, held },
      compensation: true,
      knownResult: result?.receipt,
    });
  }
}

const PATIENT = { retry: { attempts: 5, delay: 30 }, compensationRetry: { attempts: 20, delay: 30 } };

@Saga({ name: 'family-shipment', ...PATIENT })
export class FamilyShipmentSaga extends ParticipantsSaga {
  constructor(participants: Participants) {
    super(participants);
  }

  @Step({ compensate: 'undo' })
  pack(ctx: StepContext<FamilyOrder>): Promise<{ receipt: string }> {
    return this.perform(ctx);
  }

  @Step({ compensate: 'undo' })
  send(ctx: StepContext<FamilyOrder>): Promise<{ receipt: string }> {
    if (ctx.input.undeliverable) throw new StepRejectedError('undeliverable');
    return this.perform(ctx);
  }
}

@Saga({ name: 'family-order', ...PATIENT })
export class FamilyOrderSaga extends ParticipantsSaga {
  constructor(participants: Participants) {
    super(participants);
  }

  @Step({ compensate: 'undo' })
  pay(ctx: StepContext<FamilyOrder>): Promise<{ receipt: string }> {
    return this.perform(ctx);
  }

  @SubSaga(() => FamilyShipmentSaga)
  ship(ctx: StepContext<FamilyOrder>): SubSagaInput<FamilyShipmentSaga> {
    return ctx.input;
  }

  @Step({ compensate: 'undo' })
  confirm(ctx: StepContext<FamilyOrder>): Promise<{ receipt: string }> {
    if (ctx.input.refused) throw new StepRejectedError('refused');
    return this.perform(ctx);
  }
}
