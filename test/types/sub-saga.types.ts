/** What @SubSaga knows of the saga that it runs. Compiled with the tests' type check; there is nothing to run. */
import {
  type CompensationContext,
  type ResultsOf,
  Saga,
  Step,
  type StepContext,
  SubSaga,
  type SubSagaInput,
} from 'nestjs-durable-saga';
import type { Equal, Expect } from './expect.js';

interface Parcel {
  address: string;
  weight: number;
}
interface Order {
  id: string;
  parcel: Parcel;
}

@Saga()
class ShipmentSaga {
  @Step()
  pack(_ctx: StepContext<Parcel>): { box: number } {
    return { box: 1 };
  }

  @Step()
  async send(_ctx: StepContext<Parcel, ShipmentSaga>): Promise<{ tracking: string; at: Date }> {
    return Promise.resolve({ tracking: '1', at: new Date() });
  }
}

@Saga()
export class AcceptedSaga {
  @SubSaga(() => ShipmentSaga)
  ship(ctx: StepContext<Order>): Parcel {
    return ctx.input.parcel;
  }

  @SubSaga(() => ShipmentSaga, { compensate: 'tellCustomer', after: 'ship', when: () => true, delay: '1m' })
  shipAgain(ctx: StepContext<Order>): SubSagaInput<ShipmentSaga> {
    return ctx.input.parcel;
  }
  tellCustomer(ctx: CompensationContext<Order, ResultsOf<ShipmentSaga>>): string | undefined {
    return ctx.result?.send.tracking;
  }

  @SubSaga(() => ShipmentSaga, { after: ['ship', 'shipAgain'], join: 'any', savepoint: true, pivot: true })
  async later(ctx: StepContext<Order>): Promise<SubSagaInput<ShipmentSaga>> {
    return Promise.resolve({ ...ctx.input.parcel, weight: 2 });
  }

  @Step({ after: 'later' })
  bill(ctx: StepContext<Order, AcceptedSaga>): number {
    const { shipAgain, later } = ctx.results;
    return shipAgain.pack.box + later.send.at.length;
  }
}

export type Results = [
  Expect<Equal<ResultsOf<AcceptedSaga>['shipAgain'], ResultsOf<ShipmentSaga>>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['later'], ResultsOf<ShipmentSaga>>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['bill'], number>>,
];

@Saga()
export class RefusedSaga {
  // @ts-expect-error -- the method has to return the input of the saga that it starts
  @SubSaga(() => ShipmentSaga)
  wrongInput(_ctx: StepContext<Order>): { address: number } {
    return { address: 1 };
  }

  // @ts-expect-error -- no such method
  @SubSaga(() => ShipmentSaga, { compensate: 'nothing' })
  noCompensation(ctx: StepContext<Order>): Parcel {
    return ctx.input.parcel;
  }

  // @ts-expect-error -- its compensation is given the results of the saga
  @SubSaga(() => ShipmentSaga, { compensate: 'takesParcel' })
  wrongCompensation(ctx: StepContext<Order>): Parcel {
    return ctx.input.parcel;
  }
  takesParcel(ctx: CompensationContext<Order, Parcel>): string | undefined {
    return ctx.result?.address;
  }

  // @ts-expect-error -- no such step
  @SubSaga(() => ShipmentSaga, { after: 'nothing' })
  noStep(ctx: StepContext<Order>): Parcel {
    return ctx.input.parcel;
  }

  // @ts-expect-error -- a sub-saga has no attempts that could be timed
  @SubSaga(() => ShipmentSaga, { timeout: '1s' })
  noTimeout(ctx: StepContext<Order>): Parcel {
    return ctx.input.parcel;
  }

  // @ts-expect-error -- a function that gives the class, not the class
  @SubSaga(ShipmentSaga)
  noFunction(ctx: StepContext<Order>): Parcel {
    return ctx.input.parcel;
  }
}
