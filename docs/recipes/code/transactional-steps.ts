import { Injectable, Module } from '@nestjs/common';
import {
  Saga,
  type SagaHandle,
  SagaService,
  Step,
  StepRejectedError,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import {
  Column,
  DataSource,
  Entity,
  type EntityManager,
  PrimaryColumn,
  PrimaryGeneratedColumn,
} from 'typeorm';

@Entity()
export class Account {
  @PrimaryColumn() id!: string;
  @Column() cents!: number;
}

/** The bookings and their reasons: one row for each movement of money. */
@Entity()
export class Booking {
  @PrimaryGeneratedColumn() id!: number;
  @Column() account!: string;
  @Column() cents!: number;
  @Column() reason!: string;
}

@Entity()
export class TransferRequest {
  @PrimaryColumn() id!: string;
  @Column() saga!: string;
}

export interface Transfer {
  id: string;
  from: string;
  to: string;
  cents: number;
}

/** Both accounts are in this database, but the transfer needs a saga: a clerk checks each one in between. */
@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, compensate: 'creditBack', timeout: '5s' })
  async debit(ctx: TransactionalStepContext<Transfer>): Promise<{ left: number }> {
    const { from, cents } = ctx.input;
    const left = await book(ctx.manager, from, -cents, ctx.idempotencyKey);
    if (left < 0) throw new StepRejectedError(`${from} does not have ${cents}`); // rolls the booking back
    ctx.publish({ topic: 'bookings', key: from, payload: { account: from, cents: -cents } });
    return { left };
  }

  async creditBack(ctx: TransactionalCompensationContext<Transfer, { left: number }>): Promise<void> {
    // The step's writes and its checkpoint are one commit: without a result, nothing was written.
    if (ctx.result) await book(ctx.manager, ctx.input.from, ctx.input.cents, ctx.idempotencyKey);
  }

  @Step({ transactional: true, pivot: true, timeout: '5s' })
  async credit(ctx: TransactionalStepContext<Transfer>): Promise<void> {
    await book(ctx.manager, ctx.input.to, ctx.input.cents, ctx.idempotencyKey);
  }
}

/** @returns the balance of the account, which is locked until the commit */
async function book(manager: EntityManager, id: string, cents: number, reason: string): Promise<number> {
  const account = await manager.findOne(Account, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (!account) throw new StepRejectedError(`there is no account ${id}`);
  account.cents += cents;
  await manager.save(account);
  await manager.insert(Booking, { account: id, cents, reason });
  return account.cents;
}

@Injectable()
export class Transfers {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sagas: SagaService,
  ) {}

  /** The request and its saga are stored together, or not at all, however often it is called. */
  request(transfer: Transfer): Promise<SagaHandle<TransferSaga>> {
    return this.dataSource.transaction(async (manager) => {
      const handle = await this.sagas.start(TransferSaga, transfer, { manager, correlationId: transfer.id });
      if (handle.created) await manager.insert(TransferRequest, { id: transfer.id, saga: handle.id });
      return handle;
    });
  }
}

@Module({ providers: [TransferSaga, Transfers] })
export class TransferModule {}
