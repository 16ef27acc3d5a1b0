import { Saga, Step, WaitFor } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { waits } from '../support/waits.js';

@Saga({ name: 'order' })
class Order {
  @Step({ compensate: 'undo' }) act() {}
  undo() {}
  @WaitFor({ signal: 'paid' }) paid() {}
}

const apps = TestApps.onOwnDatabase();
let app: Awaited<ReturnType<TestApps['start']>>;
let id: string;

beforeEach(async () => {
  app = await apps.start({ sagas: [Order] });
  ({ id } = await app.sagas.start(Order, {}, { correlationId: 'o-1' }));
  await waits(apps, id);
});

describe('a slip', () => {
  const given = (value: object) => value as never;

  test('in the filter of a bulk call does nothing to any saga, and neither does one in dryRun', async () => {
    await expect(app.operations.bulk('cancel', given({ saga: Order, tag: { a: 'b' } }))).rejects.toThrow(
      "bulk(): filter: unknown option 'tag'. Did you mean 'tags'?",
    );
    await expect(app.operations.bulk('cancel', {}, given({ dryrun: true }))).rejects.toThrow(
      "bulk(): options: unknown option 'dryrun'. Did you mean 'dryRun'?",
    );
    await expect(app.operations.bulk('cancel', {}, given({ dryRun: 'yes' }))).rejects.toThrow(
      /dryRun is 'yes'/,
    );
    await expect(app.operations.bulk('cancel', {}, given({ expects: 'running' }))).rejects.toThrow(
      /'expects'/,
    );
    expect(await app.sagas.get(id)).toMatchObject({ status: 'running' });
  });

  test('in a correlation id starts nothing, and one in what is expected does nothing', async () => {
    const start = () => app.sagas.start(Order, {}, given({ corelationId: 'o-9' }));
    await expect(start()).rejects.toThrow(
      "start(): options: unknown option 'corelationId'. Did you mean 'correlationId'?",
    );
    await expect(app.sagas.cancel(id, given({ expects: { revsion: 99 } }))).rejects.toThrow(
      "cancel(): options: unknown option 'expects.revsion'. Did you mean 'expects.revision'?",
    );
    expect(await app.sagas.find()).toMatchObject({ items: [{ id, status: 'running' }] });
    await expect(app.sagas.find(given({ nope: 1 }))).rejects.toThrow(
      "find(): filter: unknown option 'nope'. The options are: saga, status, ",
    );
  });
});
