import { Injectable } from '@nestjs/common';
import {
  type CompensationContext,
  type HandlerCompensationContext,
  type HandlerContext,
  RemoteStep,
  type RemoteInput,
  Saga,
  type SagaService,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
} from '../../libs/saga/src/index.js';
import { Gate, until } from './gate.js';
import type { TestApp, TestApps } from './test-app.js';

const ONCE = { attempts: 1 };
/** Nothing here may be found by polling: what waits has to be woken. */
export const NO_POLL = { worker: { pollInterval: '1h' } } as const;

export interface Order {
  sku: string;
}
export interface Reservation {
  id: string;
}

/** What happened in all processes, in order; of each test anew. */
export const journal: string[] = [];
/** What the handler was given, call by call. */
export const calls: HandlerContext<Order>[] = [];
/** What the handler, and the saga's last step, do. */
export const script = { gate: new Gate(), fails: [] as Error[], refused: false };
beforeEach(() => {
  journal.length = 0;
  calls.length = 0;
  Object.assign(script, { gate: new Gate(), fails: [], refused: false });
  script.gate.open();
});

@Injectable()
export class StockHandlers {
  app = 'stock';

  @StepHandler('stock.reserve', { compensate: 'release', retry: { attempts: 3, delay: 1 } })
  async reserve(ctx: HandlerContext<Order>): Promise<Reservation> {
    journal.push(`${this.app}: reserve ${ctx.input.sku}`);
    calls.push(ctx);
    await script.gate.opened;
    const failure = script.fails.shift();
    if (failure) throw failure;
    return { id: `for ${ctx.step}` };
  }
  release(ctx: HandlerCompensationContext<Order, Reservation>) {
    journal.push(`${this.app}: release ${ctx.result?.id} of ${ctx.input.sku}, asked by ${ctx.step}`);
  }
}

@Saga({ name: 'order', retry: ONCE })
export class OrderSaga {
  @Step({ compensate: 'undo' }) pay(_ctx: StepContext<Order>) {
    journal.push('shop: pay');
  }
  @RemoteStep('stock.reserve', { compensate: 'tell' })
  reserve(ctx: StepContext<Order>): RemoteInput<StockHandlers['reserve']> {
    return { sku: ctx.input.sku };
  }
  @Step() ship(ctx: StepContext<Order, OrderSaga>): string {
    journal.push('shop: ship');
    if (script.refused) throw new StepRejectedError('no address');
    return ctx.results.reserve.id;
  }
  undo(_ctx: CompensationContext) {
    journal.push('shop: undo pay');
  }
  tell(ctx: CompensationContext<Order, Reservation>) {
    journal.push(`shop: tell that ${ctx.result?.id} is free`);
  }
}

/** The applications of a test: the shop, whose orders ask for stock, and the one that has it. */
export function remoteScene(apps: TestApps) {
  return {
    shop: (options: object = NO_POLL) => apps.start({ sagas: [OrderSaga], options }),
    stock: (options: object = NO_POLL) => apps.start({ providers: [StockHandlers], options }),
    order: (sagas: SagaService) => sagas.start(OrderSaga, { sku: 'cup' }, { correlationId: 'order-7' }),
    childOf: async (sagas: SagaService, id: string) =>
      (await sagas.get(id)).steps.find(({ name }) => name === 'reserve')!.child,
    waitsForHandler: ({ sagas }: TestApp, id: string, step = 'reserve') =>
      until(async () => {
        const { waitingFor } = await sagas.get(id);
        return waitingFor?.kind === 'handler' && waitingFor.step === step ? waitingFor : undefined;
      }),
  };
}
