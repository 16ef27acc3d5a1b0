import { Saga, SagaTransactionError, Step } from '../../../libs/saga/src/index.js';
import { LayerApps } from './layer-apps.js';

@Saga({ name: 'order' })
class Order {
  @Step() reserve() {}
}

/** Which transactions of the application are refused: those in which nothing could be stored as the caller means it. */
export function describeTransactions(apps: LayerApps): void {
  const refusal = { code: 'SAGA_TRANSACTION' };

  test('a transaction that has ended is refused', async () => {
    const { layer, sagas } = await apps.start({ sagas: [Order] });
    const ended: object[] = [];
    await layer.transaction(async (transaction) => {
      ended.push(transaction);
      await sagas.start(Order, {}, { transaction });
    });
    // One that this module has not seen.
    await layer.transaction(async (transaction) => void ended.push(transaction));
    for (const transaction of ended)
      await expect(sagas.start(Order, {}, { transaction })).rejects.toMatchObject(refusal);
  });

  // A client of pg is the same for all transactions that it is lent for.
  (apps.subject.name === 'pg' ? test.skip : test)(
    'a transaction that has ended is refused while its connection is in another one',
    async () => {
      const { layer, sagas } = await apps.start({
        ...{ sagas: [Order], connections: 1 },
        options: { worker: false },
      });
      const ended: object[] = [];
      await layer.transaction(async (transaction) => {
        ended.push(transaction);
        await sagas.start(Order, {}, { transaction });
      });
      const stored = await apps.sql('SELECT count(*)::int AS n FROM saga.instance');
      const other = layer.transaction(async (transaction) => {
        await layer.write(transaction, 'other');
        await expect(sagas.start(Order, {}, { transaction: ended[0]! })).rejects.toMatchObject(refusal);
      });
      await other;
      expect(await apps.sql('SELECT count(*)::int AS n FROM saga.instance')).toEqual(stored);
    },
  );

  describe('beside another database with sagas', () => {
    const others = LayerApps.of(apps.subject);

    test('a transaction of the other one is refused, and stores nothing', async () => {
      const { sagas } = await apps.start({ sagas: [Order] });
      const { layer } = await others.start({ sagas: [Order] });
      let refused: unknown;
      const failed = layer.transaction(async (transaction) => {
        refused = await sagas.start(Order, {}, { transaction }).catch((error: unknown) => error);
        throw new Error('rolled back');
      });
      await expect(failed).rejects.toThrow('rolled back');
      expect(refused).toBeInstanceOf(SagaTransactionError);
      expect(await others.sql('SELECT FROM saga.instance')).toEqual([]);
    });
  });
}
