import { Column, Entity, PrimaryColumn } from 'typeorm';
import {
  Saga,
  Step,
  StepRejectedError,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

@Entity()
class Account {
  @PrimaryColumn('text')
  id!: string;

  @Column('int')
  balance!: number;
}

interface Payment {
  account: string;
  refused: boolean;
}

@Saga()
class PaySaga {
  @Step({ compensate: 'giveBack', transactional: true })
  async take({ manager, input }: TransactionalStepContext<Payment>): Promise<void> {
    await manager.getRepository(Account).decrement({ id: input.account }, 'balance', 100);
  }

  async giveBack({ manager, input }: TransactionalCompensationContext<Payment>): Promise<void> {
    await manager.getRepository(Account).increment({ id: input.account }, 'balance', 100);
  }

  @Step({ transactional: true })
  async close({ manager, input }: TransactionalStepContext<Payment>): Promise<void> {
    if (input.refused) throw new StepRejectedError('refused');
    await manager.update(Account, { id: input.account }, { balance: 0 });
  }
}

describe('a transactional step', () => {
  const apps = TestApps.onOwnDatabase();
  const dataSource = { entities: [Account], synchronize: true };

  test('and its compensation work with the application’s own entities', async () => {
    const { sagas, dataSource: application } = await apps.start({ sagas: [PaySaga], dataSource });
    const accounts = application.getRepository(Account);
    await accounts.insert([
      { id: 'a', balance: 100 },
      { id: 'b', balance: 100 },
    ]);
    const paid = await sagas.start(PaySaga, { account: 'a', refused: false });
    const refused = await sagas.start(PaySaga, { account: 'b', refused: true });
    expect((await paid.outcome()).status).toBe('completed');
    expect((await refused.outcome()).status).toBe('compensated');
    expect(await accounts.find({ order: { id: 'ASC' } })).toEqual([
      { id: 'a', balance: 0 },
      { id: 'b', balance: 100 },
    ]);
  });

  test('that is the last one finishes the saga in its own transaction', async () => {
    const { sagas } = await apps.start({ sagas: [PaySaga], dataSource });
    const { id } = await sagas.start(PaySaga, { account: 'none', refused: false });
    await sagas.wait(id);
    const [row] = await apps.sql<{ same: boolean }>(
      `SELECT i.finished_at = s.updated_at AS same FROM saga.instance i JOIN saga.step s ON s.saga_id = i.id
       WHERE i.id = $1 AND s.name = 'close'`,
      [id],
    );
    expect(row!.same).toBe(true);
  });
});
