import { Saga, Step } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const here = sagaHereOn(apps);

@Saga({ name: 'order' })
class OrderSaga {
  @Step() charge() {}
}

test('a step is paused, listed and resumed, and the sagas that waited for it continue', async () => {
  const { sagas } = await apps.start({ sagas: [OrderSaga], options: { worker: { pollInterval: 50 } } });
  expect((await here('paused-steps')).out).toBe('No paused steps\n');
  const paused = await here('pause-step order charge --by ann --reason', 'payments are down');
  expect([paused.code, paused.out]).toEqual([0, 'Paused step charge of order\n']);
  expect((await here('paused-steps')).out).toMatch(
    /^order {2}charge {2}paused .* by ann: payments are down\n$/,
  );
  const saga = await sagas.start(OrderSaga, {});
  expect((await here('resume-step order charge --by bob')).out).toBe('Resumed step charge of order\n');
  expect((await saga.outcome()).status).toBe('completed');
  expect(JSON.parse((await here('paused-steps --json')).out)).toEqual([]);
  expect((await here('paused-steps --all')).out).toMatch(/payments are down {2}resumed .* by bob\n$/);
});

test('an unknown step is refused with a hint', async () => {
  await apps.start({ sagas: [OrderSaga] });
  expect(await here('pause-step order chrge')).toMatchObject({
    code: expect.any(Number),
    error: expect.stringContaining("Did you mean 'charge'?"),
  });
  expect(await here('pause-step unknown charge')).toMatchObject({
    code: 1,
    error: expect.stringContaining('SAGA_NOT_FOUND'),
  });
});
