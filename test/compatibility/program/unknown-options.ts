import assert from 'node:assert/strict';
import { Saga, SagaOperations, SagaService, Step, WaitFor } from 'nestjs-durable-saga';
import { smallApp } from './small-app.js';

@Saga({ name: 'waiting' })
class WaitingSaga {
  @Step() begin() {}
  @WaitFor({ signal: 'reply' }) reply() {}
}

/** Misspelt options that bypass the compiler. */
const typed = (value: object) => value as never;

export async function refusesUnknownOptions(url: string): Promise<void> {
  const app = await smallApp(url, { providers: [WaitingSaga] });
  const sagas = app.get(SagaService);
  const operations = app.get(SagaOperations);
  const refused = async (call: () => Promise<unknown>, unknown: string, known: string) =>
    assert.rejects(call, ({ message, code }: { message: string; code?: string }) => {
      assert.match(message, new RegExp(unknown));
      assert.match(message, new RegExp(`'${known}'`));
      assert.equal(code, 'SAGA_VALIDATION');
      return true;
    });
  try {
    const tags = { tenant: 'acme' };
    const { id } = await sagas.start(WaitingSaga, {}, { correlationId: 'one', tags });
    await sagas.start(WaitingSaga, {}, { correlationId: 'two', tags: { tenant: 'globex' } });

    await refused(() => operations.bulk('cancel', typed({ saga: WaitingSaga, tag: tags })), 'tag', 'tags');
    await refused(
      () => operations.bulk('abort', { saga: WaitingSaga }, typed({ dryrun: true, reason: 'a try' })),
      'dryrun',
      'dryRun',
    );
    await refused(
      () => sagas.start(WaitingSaga, {}, typed({ corelationId: 'one' })),
      'corelationId',
      'correlationId',
    );
    await refused(
      () => sagas.cancel(id, typed({ expects: { revsion: 0 }, reason: 'a try' })),
      'expects.revsion',
      'expects.revision',
    );
    await refused(() => sagas.find(typed({ stauts: 'running' })), 'stauts', 'status');
    const { items } = await sagas.find({ saga: WaitingSaga });
    assert.deepEqual(
      items.map(({ status, correlationId }) => `${correlationId} ${status}`),
      ['two running', 'one running'],
    );
    await operations.bulk('abort', { saga: WaitingSaga }, { reason: 'that was it' });
  } finally {
    await app.close();
  }
}
