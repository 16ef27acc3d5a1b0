import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Saga, type SagaAmbient, SagaService, Step, type StepContext } from 'nestjs-durable-saga';
import { Outbox } from 'nestjs-durable-saga-messaging';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { getDataSourceByName, Transactional } from 'typeorm-transactional';

@Entity()
export class Purchase {
  @PrimaryColumn() id!: string;
  @Column() sku!: string;
}

@Saga({ name: 'deliver' })
export class DeliverSaga {
  @Step()
  label(ctx: StepContext<Purchase>): string {
    return `parcel with ${ctx.input.sku}`;
  }
}

export const ambient: SagaAmbient = {
  transaction: () => {
    const manager = getDataSourceByName('default')?.manager;
    return manager?.queryRunner?.isTransactionActive ? manager : undefined;
  },
};

@Injectable()
export class Purchases {
  constructor(
    @InjectRepository(Purchase) private readonly purchases: Repository<Purchase>,
    private readonly sagas: SagaService,
    private readonly outbox: Outbox,
  ) {}

  @Transactional()
  async add(purchase: Purchase): Promise<string> {
    await this.purchases.insert(purchase);
    await this.outbox.publish({ topic: 'purchases', key: purchase.id, payload: purchase });
    const { id } = await this.sagas.start(DeliverSaga, purchase);
    if (purchase.sku === '') throw new Error('There is no such product');
    return id;
  }
}
