import { Body, Controller, Get, Injectable, Module, Post, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import {
  type CompensationContext,
  Saga,
  SagaService,
  Step,
  type StepContext,
  StepRejectedError,
} from 'nestjs-durable-saga';
import { sagaEntities, SagaInstance } from 'nestjs-durable-saga/database';
import { Column, Entity, IsNull, PrimaryColumn, type Repository, type SelectQueryBuilder } from 'typeorm';

export interface OrderInput {
  id: string;
  sku: string;
  cents: number;
}

@Saga({ name: 'listed-order' })
export class ListedOrderSaga {
  @Step({ compensate: 'release' })
  async reserve(ctx: StepContext<OrderInput>): Promise<{ shelf: string }> {
    return { shelf: `shelf of ${ctx.input.sku}` };
  }
  async release(_ctx: CompensationContext<OrderInput, { shelf: string }>): Promise<void> {}

  @Step()
  async charge(ctx: StepContext<OrderInput>): Promise<{ payment: string }> {
    if (ctx.input.cents > 1_000_00) throw new StepRejectedError('card declined');
    return { payment: ctx.idempotencyKey };
  }
}

@Entity('orders')
export class Order {
  @PrimaryColumn()
  id!: string;
  @Column()
  sku!: string;
  @Column('int')
  cents!: number;
  @Column('uuid')
  sagaId!: string;
  /** Set by the join of `withSagas()`. */
  saga?: SagaInstance;
}

@Injectable()
export class Orders {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    @InjectRepository(SagaInstance) private readonly instances: Repository<SagaInstance>,
    private readonly sagas: SagaService,
  ) {}

  /** Stores the order and its saga, or neither. */
  async place(order: OrderInput): Promise<void> {
    await this.orders.manager.transaction(async (transaction) => {
      const { id } = await this.sagas.start(ListedOrderSaga, order, { transaction });
      await transaction.insert(Order, { ...order, sagaId: id });
    });
  }

  /** A page of orders, each with its saga and the steps of it. */
  page(skip: number, take: number): Promise<Order[]> {
    return this.withSagas().orderBy('order.id').skip(skip).take(take).getMany();
  }

  /** Orders of which this step has failed. */
  failedAt(step: string): Promise<Order[]> {
    return this.withSagas()
      .where('step.name = :step', { step })
      .andWhere("step.status = 'failed'")
      .orderBy('order.id')
      .getMany();
  }

  /** The number of orders whose saga has not ended: it runs, compensates or needs an operator. */
  open(): Promise<number> {
    return this.instances.countBy({ name: 'listed-order', finishedAt: IsNull() });
  }

  private withSagas(): SelectQueryBuilder<Order> {
    return this.orders
      .createQueryBuilder('order')
      .leftJoinAndMapOne('order.saga', SagaInstance, 'saga', 'saga.id = order.sagaId')
      .leftJoinAndSelect('saga.steps', 'step')
      .select(['order', 'saga.id', 'saga.status', 'saga.step', 'saga.failure', 'saga.updatedAt'])
      .addSelect(['step.sagaId', 'step.name', 'step.status', 'step.attempts', 'step.result']);
  }
}

@Controller('orders')
export class OrderListController {
  constructor(private readonly orders: Orders) {}

  @Post()
  place(@Body() order: OrderInput): Promise<void> {
    return this.orders.place(order);
  }

  @Get()
  page(@Query('skip') skip = '0'): Promise<Order[]> {
    return this.orders.page(Number(skip), 20);
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Order, ...sagaEntities()])],
  controllers: [OrderListController],
  providers: [Orders, ListedOrderSaga],
})
export class OrderListModule {}
