import { Module, type Type } from '@nestjs/common';
import { Saga, SagaDriftError, Step } from 'nestjs-durable-saga';
import { Gate, until } from '../../../test/support/gate.js';
import { RecipeApps } from './recipe-apps.js';
import {
  FirstDeployModule,
  OrderSaga,
  OrderV1Saga,
  SecondDeployModule,
  Shop,
} from './versioning-and-deploys.js';

describe('the versioning-and-deploys recipe', () => {
  const apps = RecipeApps.onOwnDatabase();
  const order = { id: 'order-1', cents: 4_200 };
  const deploy = (module: Type) => apps.start({ module: { imports: [module] } });
  /** As SIGTERM ends it, with shutdown hooks. */
  const stop = () => apps.close();
  const waits = async (sagas: Awaited<ReturnType<typeof deploy>>['sagas'], id: string) =>
    until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');

  test('moves an instance that is under way to the version with a step more', async () => {
    const first = await deploy(FirstDeployModule);
    const { id } = await first.sagas.start(OrderV1Saga, order);
    await waits(first.sagas, id);
    await stop();

    const { sagas, nest } = await deploy(SecondDeployModule);
    const packed: string[] = [];
    nest.get(Shop).pack = async ({ id: packedOrder }) => void packed.push(packedOrder);
    await until(async () => (await sagas.get(id)).version === 2);
    await sagas.signal(id, 'picked', { shelf: 'A1' });
    const { status } = await sagas.wait(id, { timeout: '10s' });
    expect([status, packed]).toEqual(['completed', ['order-1']]);
  });

  test('starts new instances on the highest version', async () => {
    const { sagas } = await deploy(SecondDeployModule);
    const { id } = await sagas.start(OrderSaga, order);
    expect((await sagas.get(id)).version).toBe(2);
  });

  test('lets an instance wait, with nothing lost, while nobody has its version', async () => {
    const second = await deploy(SecondDeployModule);
    const { id } = await second.sagas.start(OrderSaga, order);
    await waits(second.sagas, id);
    await second.sagas.signal(id, 'picked', { shelf: 'A1' }).then(stop);

    // Rolled back to the first deploy, which does not know version 2.
    const { sagas } = await deploy(FirstDeployModule);
    const { status, waitingFor } = await sagas.get(id);
    if (status !== 'completed') expect(waitingFor?.kind).toBe('version');
    await stop();

    const again = await deploy(SecondDeployModule);
    expect((await again.sagas.wait(id, { timeout: '10s' })).status).toBe('completed');
  });

  test('finishes the step that is under way when the application is stopped', async () => {
    const { sagas, nest } = await deploy(FirstDeployModule);
    const [started, end] = [new Gate(), new Gate()];
    nest.get(Shop).charge = async (_order, key) => {
      started.open();
      await end.opened;
      return { payment: key };
    };
    const { id } = await sagas.start(OrderV1Saga, order);
    await started.opened;
    const stopped = stop();
    end.open();
    await stopped;

    const next = await deploy(FirstDeployModule);
    const [charge] = (await next.sagas.get(id)).steps;
    expect(charge).toMatchObject({ status: 'completed', attempts: 1 });
  });

  test('does not start when the graph has changed and its version has not', async () => {
    const first = await deploy(FirstDeployModule);
    const { id } = await first.sagas.start(OrderV1Saga, order);
    await waits(first.sagas, id);
    await stop();

    @Saga({ name: 'order', version: 1 })
    class RenamedSaga {
      @Step() pay(): void {}
      @Step() ship(): void {}
    }
    @Module({ providers: [RenamedSaga] })
    class WrongDeployModule {}
    const error: unknown = await deploy(WrongDeployModule).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SagaDriftError);
    expect((error as Error).message).toContain("step 'charge' was removed");
  });
});
