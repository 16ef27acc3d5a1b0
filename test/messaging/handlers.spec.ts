import { Controller, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DurableEvent, SagaMessagingModule, SagaReply } from '../../libs/messaging/src/index.js';
import { SagaConfigurationError } from '../../libs/saga/src/index.js';
import { MemoryServer } from './support/memory-server.js';

let paid = 0;

@Controller()
class Payments {
  @DurableEvent('payments') pay(): void {
    paid += 1;
  }
}
@Controller()
class Refunds {
  @DurableEvent('refunds', { attempts: 3 }) refund(): void {}
}
@Controller()
class Replies {
  @SagaReply('replies', { signal: 'reply' }) reply(): void {}
}
@Injectable()
class Listener {
  @DurableEvent('orders') placed(): void {}
  @SagaReply('shipments', { signal: 'shipped' }) shipped(): void {}
}

@Module({})
class Participant {}

/** A microservice, as it listens. */
async function listening(parts: ModuleMetadata) {
  const strategy = new MemoryServer();
  const app = await NestFactory.createMicroservice(
    { module: Participant, ...parts },
    { strategy, logger: false, abortOnError: false },
  );
  await app.listen();
  return { app, strategy };
}

async function refusalOf(parts: ModuleMetadata): Promise<Error> {
  const refusal = await listening(parts).then(
    async ({ app }) => {
      await app.close();
      return undefined;
    },
    (error: Error) => error,
  );
  expect(refusal).toBeInstanceOf(SagaConfigurationError);
  return refusal!;
}

test('an application whose handlers need a module that it does not import does not start', async () => {
  expect((await refusalOf({ controllers: [Refunds, Replies] })).message).toBe(
    'Refunds.refund publishes dead letters (attempts), but the application has no SagaMessagingModule. Import ' +
      'SagaMessagingModule.forRoot() in the root module, with relay: false if another process sends, or remove attempts. ' +
      'Replies.reply passes replies to sagas, but the application has no SagaModule. Import SagaModule.forRoot() in the ' +
      'root module, with worker: false if sagas run elsewhere.',
  );
});

test('a handler of a provider, which Nest does not call, is refused, by its class and method', async () => {
  for (const provider of [Listener, { provide: 'listener', useClass: Listener }])
    expect((await refusalOf({ providers: [provider, Payments], controllers: [Payments] })).message).toBe(
      'Listener.placed handles messages, but Listener is no controller, and Nest calls only those of controllers. Decorate ' +
        'it with @Controller(), and list it in the controllers of its module. Listener.shipped handles messages, but ' +
        'Listener is no controller, and Nest calls only those of controllers. Decorate it with @Controller(), and list it ' +
        'in the controllers of its module.',
    );
});

test('a handler of a provider is refused if the application has no other handler', async () => {
  const imports = [SagaMessagingModule.forRoot({ relay: false })];
  const providers = [{ provide: 'listener', useClass: Listener }];
  expect((await refusalOf({ imports, providers })).message).toContain('Listener.placed handles messages');
});

test('a handler that needs no module starts without one', async () => {
  const { app, strategy } = await listening({ controllers: [Payments] });
  await strategy.deliver('payments', { total: 5 });
  expect(paid).toBe(1);
  await app.close();
});
