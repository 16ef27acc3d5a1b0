import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { OnSagaEvent, Saga, Step, type StepContext } from 'nestjs-durable-saga';
import { open, ownSchema } from './app.js';

const request = new AsyncLocalStorage<{ readonly tenant: string }>();
const foreign: string[] = [];

function look(where: string, tenant?: string): void {
  const seen = request.getStore()?.tenant;
  if (seen !== undefined && seen !== tenant) foreign.push(where);
}

interface Invoice {
  readonly tenant: string;
}

@Saga({ name: 'invoice' })
class InvoiceSaga {
  @Step() write({ input }: StepContext<Invoice>): void {
    look('write', input.tenant);
  }
  @Step({
    delay: 20,
    forEach: ({ input }: StepContext<Invoice>) => {
      look('forEach', input.tenant);
      return [1, 2];
    },
  })
  mail({ input }: StepContext<Invoice>): void {
    look('mail', input.tenant);
  }
  @Step({ when: ({ input }: StepContext<Invoice>) => (look('when', input.tenant), true) })
  close({ input }: StepContext<Invoice>): void {
    look('close', input.tenant);
  }
}

@Injectable()
class Observer {
  @OnSagaEvent('completed')
  completed(): void {
    look('observer');
  }
}

/** No method of a saga runs in the asynchronous context of a caller, of this saga or of another one. */
export async function ownContext(): Promise<void> {
  const { sagas, close } = await open([InvoiceSaga, Observer], { schema: ownSchema() });
  const handles = [];
  for (let n = 0; n < 60; n += 1) {
    const tenant = ['acme', 'globex', 'initech'][n % 3]!;
    handles.push(await request.run({ tenant }, () => sagas.start(InvoiceSaga, { tenant })));
    await sleep(n % 7 === 0 ? 60 : 3);
  }
  for (const handle of handles) await handle.outcome({ timeout: '20s' });
  assert.deepEqual(foreign, []);
  await close();
}
