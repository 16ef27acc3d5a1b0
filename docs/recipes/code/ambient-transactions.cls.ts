import { Injectable, Module } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { ClsModule, ClsServiceManager, type ClsStore } from 'nestjs-cls';
import { Saga, type SagaAmbient, SagaService, Step, type StepContext } from 'nestjs-durable-saga';

interface Purchase {
  id: string;
  sku: string;
}

interface Store extends ClsStore {
  tenant?: string;
}

const cls = ClsServiceManager.getClsService<Store>();

export const ambient: SagaAmbient = {
  transaction: () => {
    const host = TransactionHost.getInstance<TransactionalAdapterTypeOrm>();
    return host.isTransactionActive() ? host.tx : undefined;
  },
  tags: () => {
    const tenant = cls.isActive() ? cls.get('tenant') : undefined;
    return tenant === undefined ? undefined : { tenant };
  },
  run: ({ tenant }, method) => cls.runWith({ tenant }, method),
};

@Saga({ name: 'deliver' })
export class DeliverSaga {
  @Step()
  label(ctx: StepContext<Purchase>): string {
    return `${ctx.input.sku} for ${cls.get('tenant') ?? 'no tenant'}`;
  }
}

@Injectable()
export class Purchases {
  constructor(
    private readonly host: TransactionHost<TransactionalAdapterTypeOrm>,
    private readonly sagas: SagaService,
  ) {}

  @Transactional()
  async add(purchase: Purchase): Promise<string> {
    await this.host.tx.query('INSERT INTO purchase (id, sku) VALUES ($1, $2)', [purchase.id, purchase.sku]);
    const { id } = await this.sagas.start(DeliverSaga, purchase);
    if (purchase.sku === '') throw new Error('There is no such product');
    return id;
  }
}

@Module({
  imports: [
    ClsModule.forRoot({
      plugins: [
        new ClsPluginTransactional({
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    }),
  ],
  providers: [Purchases, DeliverSaga],
  exports: [Purchases],
})
export class PurchasesModule {}
