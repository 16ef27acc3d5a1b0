import { Injectable, Module } from '@nestjs/common';
import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { Column, Entity, PrimaryColumn } from 'typeorm';

export interface Booking {
  id: string;
  room: string;
  cents: number;
}

/** Calls the hotel. */
@Injectable()
export class Hotel {
  async reserve(_room: string, _key: string): Promise<{ reservation: string }> {
    throw new Error('not in a test');
  }
  /** With the reservation's number, or with the key of the request. */
  async cancel(_reservation: string | undefined, _askedUnder: string): Promise<void> {
    throw new Error('not in a test');
  }
}

/** Calls the bank. */
@Injectable()
export class Bank {
  async charge(_cents: number, _key: string): Promise<{ payment: string }> {
    throw new Error('not in a test');
  }
  /** The charge with this key, if there is one. */
  async refund(_chargedUnder: string, _key: string): Promise<void> {
    throw new Error('not in a test');
  }
}

@Entity()
export class Confirmation {
  @PrimaryColumn() booking!: string;
  @Column() reservation!: string;
}

@Saga({ name: 'book-room' })
export class BookRoomSaga {
  constructor(
    private readonly hotel: Hotel,
    private readonly bank: Bank,
  ) {}

  @Step({ compensate: 'cancel', timeout: '10s' })
  reserve(ctx: StepContext<Booking>): Promise<{ reservation: string }> {
    return this.hotel.reserve(ctx.input.room, ctx.idempotencyKey);
  }
  cancel(ctx: CompensationContext<Booking, { reservation: string }>): Promise<void> {
    return this.hotel.cancel(ctx.result?.reservation, `${ctx.sagaId}:reserve`);
  }

  @Step({ timeout: '10s', compensate: 'payBack', retry: { attempts: 5, delay: '1h' } })
  charge(ctx: StepContext<Booking>): Promise<{ payment: string }> {
    if (ctx.input.cents > 1_000_00) throw new StepRejectedError('over the limit');
    return this.bank.charge(ctx.input.cents, ctx.idempotencyKey);
  }
  payBack(ctx: CompensationContext<Booking, { payment: string }>): Promise<void> {
    return this.bank.refund(`${ctx.sagaId}:charge`, ctx.idempotencyKey);
  }

  @Step({ transactional: true })
  async confirm(ctx: TransactionalStepContext<Booking, BookRoomSaga>): Promise<void> {
    const { reservation } = ctx.results.reserve;
    await ctx.manager.insert(Confirmation, { booking: ctx.input.id, reservation });
  }
}

@Module({ providers: [Hotel, Bank, BookRoomSaga] })
export class BookingModule {}
