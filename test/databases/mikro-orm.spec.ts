import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { Saga, Step, type TransactionalStepContext } from '../../libs/saga/src/index.js';
import { describeDatabase } from './contract/database.contract.js';
import { LayerApps } from './contract/layer-apps.js';
import type { Layer } from './layers/layer.js';
import { MIKRO_ORM } from './layers/mikro-orm.layer.js';

describeDatabase(MIKRO_ORM);

let layer: Layer<SqlEntityManager>;

@Saga({ name: 'order', retry: { attempts: 1 } })
class Order {
  @Step({ transactional: true }) async book({
    input,
    transaction,
  }: TransactionalStepContext<string[], Order, SqlEntityManager>) {
    for (const what of input) await layer.write(transaction, what);
  }
}

describe('the EntityManager of MikroORM', () => {
  const apps = LayerApps.of(MIKRO_ORM);
  const start = async () => {
    const app = await apps.start({ sagas: [Order] });
    layer = app.layer as Layer<SqlEntityManager>;
    return { ...app, em: app.layer.source as SqlEntityManager };
  };
  beforeAll(() => apps.sql('CREATE UNIQUE INDEX effect_once ON effect (what)'));

  test('is flushed before the checkpoint of a step, which fails with the error of a statement', async () => {
    const { sagas } = await start();
    await apps.sql(`INSERT INTO effect VALUES ('taken')`);
    expect(await (await sagas.start(Order, ['new', 'taken'])).outcome()).toMatchObject({
      status: 'compensated',
      failure: { step: 'book', error: { name: 'UniqueConstraintViolationException', code: '23505' } },
    });
    expect((await (await sagas.start(Order, ['new'])).outcome()).status).toBe('completed');
    expect(await apps.effects()).toEqual(['new', 'taken']);
  });

  test('is flushed while the row of the saga is not locked yet: nothing comes between the checkpoint and the commit', async () => {
    const { sagas } = await start();
    await apps.sql(`CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.what := NEW.what || (SELECT ' while ' || status FROM saga.instance WHERE correlation_id = NEW.what);
      RETURN NEW; END $$`);
    await apps.sql('CREATE TRIGGER stamp BEFORE INSERT ON effect FOR EACH ROW EXECUTE FUNCTION stamp()');
    try {
      const order = await sagas.start(Order, ['written'], { correlationId: 'written' });
      expect((await order.outcome()).status).toBe('completed');
    } finally {
      await apps.sql('DROP TRIGGER stamp ON effect');
    }
    expect(await apps.effects()).toEqual(['written while running']);
  });

  test('of the application is a transaction while one is open in its context', async () => {
    const { sagas, em } = await start();
    const order = await em.transactional(() => sagas.start(Order, ['contextual'], { transaction: em }));
    expect((await order.outcome()).status).toBe('completed');
    const revoked = em.transactional(async () => {
      await sagas.start(Order, ['revoked'], { transaction: em, correlationId: 'revoked' });
      throw new Error('revoked');
    });
    await expect(revoked).rejects.toThrow('revoked');
    await expect(sagas.get({ saga: Order, correlationId: 'revoked' })).rejects.toThrow();
    expect(await apps.effects()).toEqual(['contextual']);
  });

  test('outside of a transaction is refused', async () => {
    const { sagas, em } = await start();
    await expect(sagas.start(Order, [], { transaction: em })).rejects.toThrow(
      'is an EntityManager of MikroORM outside of a transaction, but the module uses the database of MikroORM. Give the ' +
        'EntityManager of em.transactional(async (em) => …).',
    );
  });
});
