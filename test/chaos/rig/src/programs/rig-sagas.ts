import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type SubSagaInput,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { Participants } from './participants.js';

export interface RigInput {
  n: number;
  /** The last step refuses it: everything has to be undone. */
  refused: boolean;
  /** The first attempt of one of its steps fails. */
  shaky: boolean;
}

export const LEDGER = 'CREATE TABLE ledger (saga_id uuid NOT NULL, entry text NOT NULL)';

/** The transaction of a step, of either database layer of the rig. */
interface Queries {
  query(text: string, values: unknown[]): Promise<unknown>;
}

const PATIENT = { retry: { attempts: 5, delay: 30 }, compensationRetry: { attempts: 20, delay: 30 } };

/** Timeouts count, and a fault may last for many. */
const PERSISTENT = {
  retry: { attempts: 50, delay: 30, maxDelay: '1s' },
  compensationRetry: { attempts: 50, delay: 30, maxDelay: '1s' },
} as const;

/** What the sagas of the rig have in common: steps that call a participant, and a last one that may refuse. */
export abstract class RigSaga {
  constructor(private readonly participants: Participants) {}

  protected call(ctx: { sagaId: string; idempotencyKey: string }): Promise<string> {
    return this.participants.apply(ctx);
  }

  protected shaky(ctx: StepContext<RigInput>): Promise<string> {
    if (ctx.input.shaky && ctx.attempt === 1) throw new Error('try again');
    return this.call(ctx);
  }

  protected last(ctx: StepContext<RigInput>): Promise<string> {
    if (ctx.input.refused) throw new StepRejectedError('refused');
    return this.call(ctx);
  }

  async undo(ctx: CompensationContext<RigInput, string>): Promise<void> {
    await this.call(ctx);
  }
}

/** Four steps, one after the other. */
@Saga({ name: 'rig-order', ...PATIENT })
export class RigOrderSaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  @Step({ compensate: 'undo' }) charge(ctx: StepContext<RigInput>) {
    return this.shaky(ctx);
  }
  @Step({ compensate: 'undo' }) ship(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  @Step({ compensate: 'undo' }) confirm(ctx: StepContext<RigInput>) {
    return this.last(ctx);
  }
}

/** With a step, and its compensation, whose writes commit together with its checkpoint. */
@Saga({ name: 'rig-ledger', ...PATIENT })
export class RigLedgerSaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  // Its statements cross a network, so it has a timeout as any such step.
  @Step({ transactional: true, compensate: 'unbook', timeout: '3s', ...PERSISTENT })
  async book({ transaction, sagaId }: TransactionalStepContext<RigInput, object, Queries>): Promise<string> {
    await transaction.query('INSERT INTO ledger VALUES ($1, $2)', [sagaId, 'booked']);
    return 'booked';
  }
  async unbook({
    transaction,
    sagaId,
  }: TransactionalCompensationContext<RigInput, string, object, Queries>): Promise<void> {
    await transaction.query('INSERT INTO ledger VALUES ($1, $2)', [sagaId, 'unbooked']);
  }
  @Step({ compensate: 'undo' }) confirm(ctx: StepContext<RigInput>) {
    return this.last(ctx);
  }
}

/** With a step that must not be run twice, whatever happens. */
@Saga({ name: 'rig-once', ...PATIENT })
export class RigOnceSaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext<RigInput>) {
    return this.shaky(ctx);
  }
  @Step({ idempotent: false, compensate: 'undo' }) notify(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  @Step({ compensate: 'undo' }) confirm(ctx: StepContext<RigInput>) {
    return this.last(ctx);
  }
}

/** The step of another saga. */
@Saga({ name: 'rig-shipment', ...PATIENT })
export class RigShipmentSaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) pack(ctx: StepContext<RigInput>) {
    return this.shaky(ctx);
  }
  @Step({ compensate: 'undo' }) send(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
}

@Saga({ name: 'rig-family', ...PATIENT })
export class RigFamilySaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) pay(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  @SubSaga(() => RigShipmentSaga) ship(ctx: StepContext<RigInput>): SubSagaInput<RigShipmentSaga> {
    return ctx.input;
  }
  @Step({ compensate: 'undo' }) confirm(ctx: StepContext<RigInput>) {
    return this.last(ctx);
  }
}

/** Those of one key one after the other. */
@Saga({ name: 'rig-queue', lockKey: ({ input }: { input: RigInput }) => `key-${input.n % 3}`, ...PATIENT })
export class RigQueueSaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) enter(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  @Step({ compensate: 'undo' }) leave(ctx: StepContext<RigInput>) {
    return this.last(ctx);
  }
}

/** Several side by side. */
@Saga({ name: 'rig-fan', ...PATIENT })
export class RigFanSaga extends RigSaga {
  constructor(participants: Participants) {
    super(participants);
  }
  @Step({ compensate: 'undo' }) prepare(ctx: StepContext<RigInput>) {
    return this.call(ctx);
  }
  @Step({ forEach: () => ['a', 'b', 'c'], itemsAtOnce: 2, compensate: 'undo' })
  deliver(ctx: StepContext<RigInput>) {
    return this.shaky(ctx);
  }
  @Step({ compensate: 'undo' }) confirm(ctx: StepContext<RigInput>) {
    return this.last(ctx);
  }
}

export const RIG_SAGAS = [
  ...[RigOrderSaga, RigLedgerSaga, RigOnceSaga, RigFamilySaga, RigShipmentSaga, RigQueueSaga, RigFanSaga],
];
