import {
  type CompensationContext,
  Saga,
  type SagaService,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type SubSagaInput,
} from '../../../../libs/saga/src/index.js';
import { Gate } from '../../../support/gate.js';
import { journal, Journalled } from '../../../support/journalled.js';

export const ONCE = { attempts: 1 };
/** Nothing here may be found by polling: what waits has to be woken. */
export const NO_POLL = { worker: { pollInterval: '1h' } } as const;

export interface Parcel {
  address: string;
}

/** What the sagas of a test do. Reset before each test. */
export const script = {
  /** What steps wait for. */
  gate: new Gate(),
  /** The step that waits for the gate. Undefined: every step does. */
  holds: undefined as string | undefined,
  /** Steps that reject. */
  refused: [] as string[],
  /** Steps whose signal aborted. */
  aborted: [] as string[],
};
beforeEach(() => {
  Object.assign(script, { gate: new Gate(), holds: undefined, refused: [], aborted: [] });
  script.gate.open();
});

export abstract class Scripted extends Journalled {
  /** Writes down that it runs, and waits for the gate. */
  protected async play<T>(ctx: StepContext, result?: T): Promise<T> {
    this.note(ctx);
    ctx.signal.addEventListener('abort', () => script.aborted.push(ctx.step));
    if (script.holds === undefined || script.holds === ctx.step) await script.gate.opened;
    if (script.refused.includes(ctx.step)) throw new StepRejectedError(`${ctx.step} is refused`);
    return result as T;
  }
}

@Saga({ name: 'shipment', retry: ONCE })
export class ShipmentSaga extends Scripted {
  @Step({ compensate: 'undo' }) pack(ctx: StepContext<Parcel>) {
    return this.play(ctx, { box: ctx.input.address.length });
  }
  @Step({ compensate: 'undo' }) send(ctx: StepContext<Parcel>) {
    return this.play(ctx, { tracking: `to ${ctx.input.address}` });
  }
}

@Saga({ name: 'order', retry: ONCE })
export class OrderSaga extends Scripted {
  @Step({ compensate: 'undo' }) pay(ctx: StepContext<{ address: string }>) {
    return this.play(ctx, 'paid');
  }
  @SubSaga(() => ShipmentSaga, { compensate: 'tell' })
  ship(ctx: StepContext<{ address: string }>): SubSagaInput<ShipmentSaga> {
    journal.push('ship');
    if (script.refused.includes('ship')) throw new StepRejectedError('ship is refused');
    return { address: ctx.input.address };
  }
  tell(ctx: CompensationContext<unknown, { send: { tracking: string } }>) {
    journal.push(`tell about the parcel ${ctx.result?.send.tracking}`);
  }
  @Step() async bill(ctx: StepContext<unknown, OrderSaga>): Promise<string> {
    return this.play(ctx, ctx.results.ship.send.tracking);
  }
}

export const childOf = async (sagas: SagaService, id: string, step = 'ship'): Promise<string> =>
  (await sagas.get(id)).steps.find(({ name }) => name === step)!.child!;
export const statusOf = async (sagas: SagaService, id: string) => (await sagas.get(id)).status;
