import { Injectable } from '@nestjs/common';
import {
  CommandHandler,
  EventBus,
  type ICommand,
  type ICommandHandler,
  type IEvent,
  ofType,
  Saga,
} from '@nestjs/cqrs';
import { map, type Observable } from 'rxjs';

export class OrderPlacedEvent {
  constructor(readonly order: { id: string; sku: string; cents: number }) {}
}
export class StockReservedEvent {
  constructor(readonly order: { id: string; sku: string; cents: number }) {}
}
export class ReserveStockCommand {
  constructor(readonly order: { id: string; sku: string; cents: number }) {}
}
export class ChargeCardCommand {
  constructor(readonly order: { id: string; sku: string; cents: number }) {}
}

declare const shop: { reserve(sku: string): Promise<void>; charge(cents: number): Promise<void> };

@CommandHandler(ReserveStockCommand)
export class ReserveStockHandler implements ICommandHandler<ReserveStockCommand> {
  constructor(private readonly events: EventBus) {}

  async execute({ order }: ReserveStockCommand): Promise<void> {
    await shop.reserve(order.sku);
    this.events.publish(new StockReservedEvent(order));
  }
}

@CommandHandler(ChargeCardCommand)
export class ChargeCardHandler implements ICommandHandler<ChargeCardCommand> {
  async execute({ order }: ChargeCardCommand): Promise<void> {
    await shop.charge(order.cents);
  }
}

@Injectable()
export class OrderSagas {
  @Saga()
  placed = (events$: Observable<IEvent>): Observable<ICommand> =>
    events$.pipe(
      ofType(OrderPlacedEvent),
      map(({ order }) => new ReserveStockCommand(order)),
    );

  @Saga()
  reserved = (events$: Observable<IEvent>): Observable<ICommand> =>
    events$.pipe(
      ofType(StockReservedEvent),
      map(({ order }) => new ChargeCardCommand(order)),
    );
}
