/** Contexts can be handed to helpers that ask for less. Compiled with the tests' type check; there is nothing to run. */
import {
  type CompensationContext,
  type ForEachContext,
  type HandlerCompensationContext,
  type HeartbeatContext,
  type ItemCompensationContext,
  Saga,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';

interface Order {
  sku: string;
  at: Date;
}

declare const step: StepContext<Order>;
export const lessInput: StepContext<Pick<Order, 'sku'>> = step;
export const noInput: StepContext = step;

declare const compensation: CompensationContext<Order, { id: string }>;
export const noResult: CompensationContext<Order> = compensation;
export const nothing: CompensationContext = compensation;

declare const heartbeat: HeartbeatContext<Order, { line: number }>;
export const noDetails: HeartbeatContext<Order> = heartbeat;
export const noHeartbeat: StepContext<Order> = heartbeat;

declare const item: ForEachContext<Order, Order>;
export const noItem: ForEachContext = item;

declare const undone: ItemCompensationContext<Order, { id: string }, Order>;
export const noItemResult: ItemCompensationContext<Order> = undone;

declare const handled: HandlerCompensationContext<Order, { id: string }>;
export const noHandled: HandlerCompensationContext = handled;

@Saga()
export class OneCompensationForAllSaga {
  @Step({ compensate: 'undo' })
  reserve(_ctx: StepContext<Order>): { id: string } {
    return { id: '1' };
  }

  @Step({ compensate: 'undo' })
  async notify(_ctx: StepContext<Order>): Promise<void> {}

  undo(_ctx: CompensationContext<Order>): void {}
}
