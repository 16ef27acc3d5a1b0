import {
  Approval,
  Saga,
  SagaNotFoundError,
  SagaStateError,
  SagaValidationError,
  Step,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { CALL_NAMES, type CallName, factsOf } from '../../../libs/saga/src/engine/ports/call-table.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order', schedule: { cron: '0 0 1 1 *', input: () => ({}) } })
class OrderSaga {
  @WaitFor({ signal: 'reply' }) reply() {}
  @Approval() release() {}
  @Step({ forEach: () => [1, 2] }) ship() {}
  @Step() charge() {}
}
@Saga({ name: 'order', version: 2 })
class NewOrderSaga {
  @WaitFor({ signal: 'reply' }) reply() {}
  @Step() invoice() {}
}
@Saga({ name: 'order', version: 3 })
class NewestOrderSaga {
  @WaitFor({ signal: 'reply' }) reply() {}
  @Step() refund() {}
}
@Saga({ name: 'parcels' })
class ParcelsSaga {
  @Step({ forEach: () => ['a', 'b'] }) send() {}
  @WaitFor({ signal: 'reply' }) reply() {}
}

/** The calls of operators that name a step, and the option that does. */
const ON_STEPS = CALL_NAMES.flatMap((call) =>
  Object.entries(factsOf(call).options)
    .filter(([, { type }]) => type === 'step')
    .map(([option]) => [call, option] as const),
);

async function waiting(saga: new () => object = OrderSaga) {
  const app = await apps.start({ sagas: [OrderSaga, ParcelsSaga] });
  const { id } = await app.sagas.start(saga, {});
  await until(async () => (await app.sagas.get(id)).waitingFor?.kind === 'signal');
  const call = (name: CallName, option: string, step: string) => {
    const service = (name in app.sagas ? app.sagas : app.operations) as unknown as Record<
      string,
      (...given: unknown[]) => Promise<void>
    >;
    const { operand } = factsOf(name).options[option]!;
    const who = { by: 'ann' };
    if (!operand) return service[name]!(id, { ...who, [option]: step });
    return service[name]!(id, step, ...(name === 'reschedule' ? ['1h', who] : [who]));
  };
  return { ...app, id, call };
}

test.each(ON_STEPS)(
  '%s(): a name in `%s` that no step has is refused, with the nearest one',
  async (...on) => {
    const { call } = await waiting();
    const refused = call(...on, 'releese');
    await expect(refused).rejects.toThrow(SagaValidationError);
    await expect(refused).rejects.toThrow(
      `${on[0]}(): order@1 has no step 'releese'. Did you mean 'release'?`,
    );
    await expect(call(...on, 'somethingElse')).rejects.toThrow('Its steps: reply, release, ship, charge.');
  },
);

test('the refusal of a step that only other versions have names them, deployed here or not', async () => {
  const { id, close } = await waiting();
  await close();
  // One version is only stored, and another one is also part of this application.
  await (await apps.start({ sagas: [NewestOrderSaga] })).close();
  const { operations } = await apps.start({ sagas: [OrderSaga, NewOrderSaga] });
  for (const [step, version] of [
    ['invoice', 2],
    ['refund', 3],
  ]) {
    const refused = operations.resolve(id, step as string, { by: 'ann' });
    await expect(refused).rejects.toThrow(SagaValidationError);
    await expect(refused).rejects.toThrow(
      `is order@1, which has no step '${step}'. Versions that have it: order@${version}.`,
    );
  }
});

test('an item that a fan-out does not have is refused, and so is one of a step that is no fan-out', async () => {
  const { operations, id } = await waiting(ParcelsSaga);
  const beyond = operations.resolve(id, 'send[2]', { by: 'ann' });
  await expect(beyond).rejects.toThrow(SagaValidationError);
  await expect(beyond).rejects.toThrow("has no item 'send[2]'. The items of send: send[0] to send[1]");
  for (const none of ['reply[0]', 'send[x]', 'send[-1]', 'send]'])
    await expect(operations.resolve(id, none, { by: 'ann' })).rejects.toThrow(SagaValidationError);
  await expect(operations.resolve(id, 'send[1]', { by: 'ann' })).rejects.toThrow(SagaStateError);
});

test.each<[unknown, string]>([
  [undefined, 'undefined'],
  [null, 'null'],
  [5, '5'],
  [{}, '{}'],
])('%j in the place of a saga is refused as the value of the caller that it is', async (given, shown) => {
  const { sagas, operations, schedules } = await apps.start({ sagas: [OrderSaga] });
  const saga = given as string;
  for (const call of [
    () => sagas.start(saga, {}),
    () => sagas.get({ saga: given === undefined ? (null as never) : saga, correlationId: 'a' }),
    () => operations.pauseStep(saga, 'charge'),
    () => schedules.pause(saga),
    () => schedules.resume(saga),
    () => schedules.trigger(saga),
  ]) {
    const refused = call();
    await expect(refused).rejects.toThrow(SagaValidationError);
    await expect(refused).rejects.toThrow(/saga is .*; give the class or the name of a saga/);
  }
  await expect(sagas.start(saga, {})).rejects.toThrow(`saga is ${shown};`);
});

test('undefined in the place of a saga names the usual cause', async () => {
  const { sagas } = await apps.start({ sagas: [OrderSaga] });
  await expect(sagas.start(undefined as never, {})).rejects.toThrow(
    'saga is undefined; give the class or the name of a saga. A class is undefined while files import each other.',
  );
});

test.each<[unknown, string]>([
  [undefined, 'undefined'],
  [null, 'null'],
  [5, '5'],
  [[], '[]'],
])('%j in the place of a target is refused, and what an id is is said', async (given, shown) => {
  const { sagas, operations } = await apps.start({ sagas: [OrderSaga] });
  const target = given as string;
  for (const call of [
    () => sagas.get(target),
    () => sagas.wait(target),
    () => sagas.cancel(target),
    () => operations.undo(target),
  ]) {
    const refused = call();
    await expect(refused).rejects.toThrow(SagaValidationError);
    await expect(refused).rejects.toThrow(
      `target is ${shown}; give the id of a saga, which is a string, or { saga, correlationId }.`,
    );
  }
});

test('an unknown name of a call on all sagas is refused with the nearest one', async () => {
  const { operations, schedules } = await waiting();
  await until(async () => (await schedules.list()).length > 0);
  await expect(operations.pauseStep(OrderSaga, 'chrge')).rejects.toThrow("Did you mean 'charge'?");
  for (const call of [
    () => operations.pauseStep('ordr', 'charge'),
    () => operations.resumeStep('ordr', 'charge'),
    () => schedules.pause('ordr'),
    () => schedules.resume('ordr'),
  ]) {
    const refused = call();
    await expect(refused).rejects.toThrow(SagaNotFoundError);
    await expect(refused).rejects.toThrow("'ordr'. Did you mean 'order'?");
  }
  await expect(schedules.trigger('ordr')).rejects.toThrow("Did you mean 'order'?");
});
