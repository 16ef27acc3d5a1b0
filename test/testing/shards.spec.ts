import { Inject } from '@nestjs/common';
import { Saga, SagaService, SagaShards, Step } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

@Saga({ name: 'shipment' })
class ShipmentSaga {
  @Step() send() {
    return 'sent';
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  constructor(
    @Inject(SagaService) private readonly sagas: SagaService,
    @Inject(SagaShards) private readonly shards: SagaShards,
  ) {}

  @Step() async ship() {
    const options = { shard: 'eu', correlationId: 'shipment-1' };
    const { created } = await this.sagas.start(ShipmentSaga, {}, options);
    return { created, shards: (await this.shards.list()).length };
  }
}

test('a test has one store in the place of every shard that a start names', async () => {
  const test = SagaTest.of(OrderSaga, ShipmentSaga);
  const run = await test.run({});
  expect(run.outcome.results).toEqual({ ship: { created: true, shards: 0 } });
});
